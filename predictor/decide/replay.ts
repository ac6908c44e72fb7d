import { readWith } from "@tradewind/core/values/config.ts";
import { PolicyInputs } from "./inputs.ts";
import type { PolicyOutcome } from "./inputs.ts";
import { decide } from "./ladder.ts";

/**
 * Decides again from recorded inputs (`GET /v1/inputs/{hash}`): the wishes are the same bit for bit.
 * @public for those who check a record
 * @throws TradewindError `invalid-input` when `recorded` is not a record of inputs
 */
export const replay = (recorded: unknown): PolicyOutcome =>
  decide(readWith(PolicyInputs, recorded, "the recorded inputs"));
