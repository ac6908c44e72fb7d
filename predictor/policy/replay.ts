import { parseWith } from "@tradewind/core/config.ts";
import { PolicyInputs } from "./inputs.ts";
import type { PolicyOutcome } from "./inputs.ts";
import { decide } from "./ladder.ts";

/**
 * Decides again from recorded inputs (`GET /v1/inputs/{hash}`): the wishes are the same bit for bit.
 * @throws TradewindError `invalid-input` when `recorded` is not a record of inputs
 */
export function replay(recorded: unknown): PolicyOutcome {
  return decide(parseWith(PolicyInputs, recorded, "the recorded inputs"));
}
