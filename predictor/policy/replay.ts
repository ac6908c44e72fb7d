import { parseWith } from "@tradewind/core/config.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { NO_MODELS, PolicyInputs } from "./inputs.ts";
import type { Models, PolicyOutcome } from "./inputs.ts";
import { decide } from "./ladder.ts";

/**
 * Decides again from recorded inputs (`GET /v1/inputs/{hash}`): the wishes are the same bit for bit.
 * @param models gives back the models that the inputs name (`GET /v1/models/{hash}`)
 * @throws TradewindError `invalid-input` when `recorded` is not a record of inputs, `missing-model` when a model is gone
 */
export function replay(recorded: unknown, models: Models = NO_MODELS): PolicyOutcome {
  const inputs = parseWith(PolicyInputs, recorded, "the recorded inputs");
  for (const { service, trained } of inputs.profiles ?? []) {
    if (trained === undefined || models(trained.hash) !== undefined) continue;
    throw new TradewindError(
      "missing-model",
      `model ${trained.hash} of '${service}' is not there: without it the decision cannot be made again`,
    );
  }
  return decide(inputs, models);
}
