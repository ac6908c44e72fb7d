import type { Command } from "commander";
import { z } from "zod";
import { accessOf, addAccessFlags, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { replayed } from "../serve/api/replayed.ts";
import { scalerAt } from "./scalers.ts";

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
      const path = `v1/decisions/${encodeURIComponent(id)}`;
      const record = await asking(scalerAt(flags.scaler), accessOf(flags), async (client) =>
        client.json({ path }, z.record(z.string(), z.unknown())),
      );
      printAnswer(replayed(record), flags.json);
    });
}
