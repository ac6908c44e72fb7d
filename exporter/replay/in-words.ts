import { createHash } from "node:crypto";
import { readWith } from "@tradewind/core/config.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { replay } from "../guard/guard.ts";
import { sizeInWords } from "../status/in-words.ts";

/**
 * @param served a decision record with its keys in the order in which it is served
 * @throws TradewindError `replay-differs` that says in what
 */
export function replayInWords(served: Readonly<Record<string, unknown>>): string {
  const record = readWith(DecisionRecord, served, "the decision record");
  const { actions, final, refusal } = replay(record);
  if (refusal !== undefined) {
    throw new TradewindError(
      "replay-differs",
      `step '${refusal.step}' refuses what the record says was decided`,
    );
  }
  const before = JSON.stringify(served);
  const after = JSON.stringify({ ...served, actions, final });
  if (before !== after) {
    const [was, is] = [sizeInWords(record.final), sizeInWords(final)];
    const what = was === is ? "the guard's steps differ" : `the record says ${was}, the guard decides ${is}`;
    throw new TradewindError("replay-differs", `${what}; was it written by another release, or changed?`);
  }
  const steps = actions.map(({ reason, step }) => `  ${step}: ${reason}`);
  const hash = createHash("sha256").update(after).digest("hex");
  return [
    `${record.service} (${record.namespace}): ${sizeInWords(record.wish.allocation)} proposed, ${sizeInWords(final)} decided`,
    ...(steps.length > 0 ? steps : ["  no guard step changed it"]),
    `same ${Buffer.byteLength(after)} bytes, SHA-256 ${hash}`,
  ].join("\n");
}
