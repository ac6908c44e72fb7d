import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import { ProposalCheck, ProposalList } from "@tradewind/core/contract/proposal.ts";
import type { CheckedProposal, Proposal } from "@tradewind/core/contract/proposal.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Command } from "commander";
import { z } from "zod";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";

const EXAMPLES = `
Examples:
  $ tradewind proposals
  $ tradewind proposals --json > proposals.json
  $ tradewind proposals --check proposals.json
  $ echo '{"name":"cart-shop-main","time":"2026-11-15T19:00:00+01:00","rules":["scale"],"configuration":{"replicas":6},"reason":"a sale"}' |
      tradewind proposals --check -

A proposal has InfraLLM's form: name, time, rules, configuration and reason; null means that nothing is proposed. --check runs it on
the live models and says why it holds or not. Nothing is carried out by checking. --ask has what holds wait for a person; finer
sampling (sample) begins at once.

${exitCodes("shown, or all proposals hold", "no answer, or one does not hold")}`;

interface Flags extends ApplicationFlags {
  readonly ask?: string;
  readonly check?: string;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const described = command.description(
    "Print what the last plan changes as proposals, or check those of somebody else on the live models.",
  );
  addJsonFlag(addApplicationFlags(described), "the answer of /v1/proposals")
    .option("--check <file>", "a proposal, null, or a list of them as JSON; - is standard input")
    .option("--ask <file>", "the same, and what holds of it waits for a person: tradewind approve")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      if (flags.ask !== undefined) await check(flags, flags.ask, "v1/proposals/ask");
      else if (flags.check !== undefined) await check(flags, flags.check, "v1/proposals");
      else await show(flags);
    });
}

async function show(flags: Flags): Promise<void> {
  const list = await askPredictor(flags, {
    path: "v1/proposals",
    schema: ProposalList,
    absent: "no-proposals",
  });
  printAnswer({ json: list, text: () => listInWords(list) }, flags.json);
}

async function check(flags: Flags, file: string, path: string): Promise<void> {
  const body = await proposalsIn(file);
  const asked = { path, body, schema: ProposalCheck, absent: "no-proposals" };
  const answer = await askPredictor(flags, asked);
  printAnswer({ json: answer, text: () => answer.proposals.map(checkedInWords).join("\n") }, flags.json);
  if (answer.proposals.some(({ verdict }) => verdict !== "kept" && verdict !== "nothing"))
    process.exitCode = 1;
}

/** @throws TradewindError `invalid-input` where the file cannot be read, or holds no JSON */
async function proposalsIn(path: string): Promise<readonly unknown[]> {
  try {
    const value: unknown = JSON.parse(
      path === "-" ? await readAll(process.stdin) : await readFile(path, "utf8"),
    );
    // As `tradewind proposals --json` prints them.
    const list = ProposalList.safeParse(value);
    if (list.success) return list.data.proposals;
    return z.array(z.unknown()).catch([value]).parse(value);
  } catch (error) {
    throw new TradewindError("invalid-input", `${path}: ${describeError(error)}`, { cause: error });
  }
}

function listInWords({ proposals }: ProposalList): string {
  if (proposals.length === 0) return "The last plan changes nothing.";
  return proposals
    .map(({ configuration, confidence = 0, name, reason, target }: Proposal) => {
      const sizes = Object.entries(configuration).map(([what, value]) => `${what} ${value}`);
      return `${target?.service ?? name}  ${sizes.join(", ")}  (confidence ${confidence} %)  ${reason}`;
    })
    .join("\n");
}

function checkedInWords({ changes = [], confidence, service, verdict, why }: CheckedProposal): string {
  const sure = confidence === undefined ? "" : ` (confidence ${confidence.toFixed(0)} %)`;
  const waits = changes.length === 0 ? "" : `; waits for approval: tradewind approve ${changes.join(" ")}`;
  return `${service ?? "-"}  ${verdict}${sure}: ${why}${waits}`;
}
