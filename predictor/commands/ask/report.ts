import { systemClock } from "@tradewind/core/process/clock.ts";
import { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { accessOf, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import type { Command } from "commander";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";
import { reportInWords } from "./report-in-words.ts";
import type { Unacted } from "./report-in-words.ts";

const EXAMPLES = `
Examples:
  $ tradewind report
  $ tradewind report --from 7d
  $ tradewind report --from 2026-08-01T00:00:00Z --to 2026-08-02T00:00:00Z
  $ tradewind report --from 1h --json | jq '{requests, requestsOver, cost, decisions}'

Measured, from the predictor's store: objective, cost, decisions. Cost is what was allocated, at the application's prices.
What acting would have saved comes from the scaler, while the mode is not act. What other policies would have done with the same
load says 'tradewind backtest'.

${exitCodes("shown", "no answer, or nothing is stored of that time")}`;

interface Flags extends ApplicationFlags {
  readonly scaler: string;
  readonly from?: number;
  readonly to?: number;
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const described = command.description(
    "Show what happened over a time: objective, cost, decisions, savings and what acting would have changed.",
  );
  addJsonFlag(addApplicationFlags(described))
    .option(
      "--from <time>",
      "begin: an ISO time, or how long ago, for example 12h (default: 1d)",
      timeArgument,
    )
    .option("--to <time>", "end, as --from (default: now)", timeArgument)
    .option("--scaler <url>", "address of the scaler", "http://127.0.0.1:9812")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const { from = timeArgument("1d") } = flags;
      const query = { from: String(from), to: String(flags.to ?? systemClock.nowMs()) };
      const asked = { path: "v1/report", query, schema: PeriodReport, absent: "no-report" };
      const report = await askPredictor(flags, asked);
      const unacted = await unactedOf(flags, report);
      const text = Object.assign({ ...report }, unacted);
      printAnswer({ json: text, text: (paint) => reportInWords(report, unacted, paint) }, flags.json);
    });
}

async function unactedOf(
  { scaler, ...flags }: Flags,
  { application, namespace }: PeriodReport,
): Promise<Unacted> {
  try {
    const list = await asking(
      { name: "scaler", url: scaler, flag: "--scaler" },
      accessOf(flags),
      async (client) => client.json({ path: "v1/recommendations" }, RecommendationList),
    );
    const own =
      list.applications?.find((each) => each.name === application && each.namespace === namespace) ?? list;
    return { ...(own.mode && { mode: own.mode }), ...(own.regret && { regret: own.regret }) };
  } catch (error) {
    return { scalerProblem: describeError(error) };
  }
}
