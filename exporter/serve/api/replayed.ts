import { createHash } from "node:crypto";
import { readWith } from "@tradewind/core/values/config.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { sizeText } from "@tradewind/core/contract/sentences.ts";
import type { Answer } from "@tradewind/core/terminal/answer.ts";
import { replay } from "../../decide/guard/guard.ts";

/**
 * @param served a decision record with its keys in the order in which it is served
 * @throws TradewindError `replay-differs` that says in what
 */
export function replayed(served: Readonly<Record<string, unknown>>): Answer {
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
    const [was, is] = [sizeText(record.final), sizeText(final)];
    const what = was === is ? "the guard's steps differ" : `the record says ${was}, the guard decides ${is}`;
    throw new TradewindError("replay-differs", `${what}; was it written by another release, or changed?`);
  }
  const steps = actions.map(({ reason, step }) => `  ${step}: ${reason}`);
  const sha256 = createHash("sha256").update(after).digest("hex");
  const bytes = Buffer.byteLength(after);
  const { id, namespace, service, wish } = record;
  const lines = [
    `${service} (${namespace}): ${sizeText(wish.allocation)} proposed, ${sizeText(final)} decided`,
    ...(steps.length > 0 ? steps : ["  no guard step changed it"]),
    `same ${bytes} bytes, SHA-256 ${sha256}`,
  ];
  return {
    json: { id, namespace, service, proposed: wish.allocation, actions, final, same: true, bytes, sha256 },
    text: () => lines.join("\n"),
  };
}
