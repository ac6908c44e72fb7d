import { readWith } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { PolicyInputs } from "./inputs.ts";
import { NO_MODELS } from "./facts/evidence.ts";
import type { PolicyOutcome } from "./inputs.ts";
import type { Models } from "./facts/evidence.ts";
import { decide } from "./ladder.ts";

/**
 * Decides again from recorded inputs (`GET /v1/inputs/{hash}`): the wishes are the same bit for bit.
 * @param models gives back the models that the inputs name (`GET /v1/models/{hash}`)
 * @public for those who check a record
 * @throws TradewindError `invalid-input` when `recorded` is not a record of inputs, `missing-model` when a model is gone
 */
export function replay(recorded: unknown, models: Models = NO_MODELS): PolicyOutcome {
  const inputs = readWith(PolicyInputs, recorded, "the recorded inputs");
  for (const { residual, service } of inputs.profiles ?? []) {
    if (residual !== undefined) mustBeThere(models.residual(residual.hash), residual.hash, service);
  }
  return decide(inputs, models);
}

function mustBeThere(model: object | undefined, hash: string, of: string): void {
  if (model !== undefined) return;
  throw new TradewindError(
    "missing-model",
    `model ${hash} of '${of}' is not there: without it the decision cannot be made again`,
  );
}
