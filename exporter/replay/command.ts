import { createHash } from "node:crypto";
import type { Command } from "commander";
import { z } from "zod";
import { readWith } from "@tradewind/core/config.ts";
import { accessOf, addAccessFlags, asking } from "@tradewind/core/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/endpoint/own-process.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Answer } from "@tradewind/core/terminal/answer.ts";
import { replay } from "../guard/guard.ts";
import { sizeInWords } from "../status/in-words.ts";

const EXAMPLES = `
Examples:
  $ tradewind replay $(tradewind status --json | jq -r '.recommendations[0].decisionId')
  $ tradewind replay 0mhxyz-0123456789abcdef --scaler http://127.0.0.1:9812

Runs the guard again over what the record says it read, and compares the record byte by byte. Ids are decisionId in
/v1/recommendations and in the audit trail.

${exitCodes("the same bytes", "not the same, or no answer")}`;

interface Flags extends AccessFlags {
  readonly scaler: string;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  command
    .description("Decide again on what a decision record says, and compare.")
    .argument("<id>", "id of the decision")
    .option("--scaler <url>", "address of the scaler", "http://127.0.0.1:9812");
  addJsonFlag(addAccessFlags(command, "the scaler"))
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, flags: Flags) => {
      const scaler = { name: "scaler" as const, url: flags.scaler, flag: "--scaler" };
      const path = `v1/decisions/${encodeURIComponent(id)}`;
      const record = await asking(scaler, accessOf(flags), async (client) =>
        client.json({ path }, z.record(z.string(), z.unknown())),
      );
      printAnswer(replayed(record), flags.json);
    });
}

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
    const [was, is] = [sizeInWords(record.final), sizeInWords(final)];
    const what = was === is ? "the guard's steps differ" : `the record says ${was}, the guard decides ${is}`;
    throw new TradewindError("replay-differs", `${what}; was it written by another release, or changed?`);
  }
  const steps = actions.map(({ reason, step }) => `  ${step}: ${reason}`);
  const sha256 = createHash("sha256").update(after).digest("hex");
  const bytes = Buffer.byteLength(after);
  const { id, namespace, service, wish } = record;
  const lines = [
    `${service} (${namespace}): ${sizeInWords(wish.allocation)} proposed, ${sizeInWords(final)} decided`,
    ...(steps.length > 0 ? steps : ["  no guard step changed it"]),
    `same ${bytes} bytes, SHA-256 ${sha256}`,
  ];
  return {
    json: { id, namespace, service, proposed: wish.allocation, actions, final, same: true, bytes, sha256 },
    text: () => lines.join("\n"),
  };
}
