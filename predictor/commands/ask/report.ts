import { readFile } from "node:fs/promises";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { accessOf, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { Option } from "commander";
import type { Command } from "commander";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";
import { REPORT_FORMS, reportsCsv, reportsHtml, totalText } from "./report-forms.ts";
import type { ReportForm } from "./report-forms.ts";
import { reportInWords } from "./report-in-words.ts";
import type { Unacted } from "./report-in-words.ts";

const EXAMPLES = `
Examples:
  $ tradewind report
  $ tradewind report --from 7d
  $ tradewind report --from 2026-08-01T00:00:00Z --to 2026-08-02T00:00:00Z
  $ tradewind report --from 7d --as html > week.html
  $ tradewind report --from 7d --webhook slack-url.txt
  $ tradewind report --from 1h --json | jq '{requests, requestsOver, cost, decisions}'

Measured, from the predictor's store: objective, cost, decisions. Cost is what was allocated, at the application's prices.
Beside it stands what the HPA before would have come to on the same load: the models decide each window as it would have, and the
range is by their measured error. Without --application all applications are reported, and summed up.
What acting would have saved comes from the scaler, while the mode is not act. What other policies would have done with the same
load says 'tradewind backtest'.

${exitCodes("shown", "no answer, or nothing is stored of that time")}`;

interface Flags extends ApplicationFlags {
  readonly scaler: string;
  readonly from?: number;
  readonly to?: number;
  readonly as?: ReportForm;
  readonly webhook?: string;
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
    .addOption(new Option("--as <form>", "print another form").choices(REPORT_FORMS))
    .option("--webhook <file>", "post the summary to the address in this file, as Slack takes it")
    .option("--scaler <url>", "address of the scaler", "http://127.0.0.1:9812")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const reports = await reportsOf(flags);
      if (flags.webhook !== undefined) await post(flags.webhook, totalText(reports), flags);
      if (flags.as !== undefined) {
        process.stdout.write(`${flags.as === "csv" ? reportsCsv(reports) : reportsHtml(reports)}\n`);
        return;
      }
      const shown = await Promise.all(
        reports.map(async (report) => ({ report, unacted: await unactedOf(flags, report) })),
      );
      const documents = shown.map(({ report, unacted }) => ({ ...report, ...unacted }));
      const [only] = documents;
      const text = (paint: Paint): string =>
        [
          ...shown.map(({ report, unacted }) => reportInWords(report, unacted, paint)),
          ...(reports.length > 1 ? [totalText(reports)] : []),
        ].join("\n\n");
      printAnswer({ json: reports.length === 1 && only ? only : { reports: documents }, text }, flags.json);
    });
}

/** Of the application that was named, or of all; of those that have none of that time nothing, unless it is the only one. */
async function reportsOf(flags: Flags): Promise<PeriodReport[]> {
  const { application, from = timeArgument("1d"), namespace, to = systemClock.nowMs(), ...others } = flags;
  const query = { from: String(from), to: String(to) };
  const reportOf = async (named: object): Promise<PeriodReport> =>
    askPredictor(
      { ...flags, ...named },
      { path: "v1/report", query, schema: PeriodReport, absent: "no-report" },
    );
  if (application !== undefined) return [await reportOf({})];
  const { applications } = await askPredictor(others, {
    path: "v1/applications",
    schema: ApplicationList,
    absent: "no-report",
  });
  const places = applications.filter(
    (each) => each.state === "planned" && each.namespace === (namespace ?? each.namespace),
  );
  if (places.length < 2) return [await reportOf({})];
  const reports: PeriodReport[] = [];
  // One after the other: the predictor makes one at a time.
  for (const { name, namespace: of } of places) {
    try {
      reports.push(await reportOf({ application: name, namespace: of }));
    } catch (error) {
      if (!(error instanceof TradewindError) || error.code !== "no-report") throw error;
    }
  }
  if (reports.length > 0) return reports;
  throw new TradewindError("no-report", "no application has a window of that time; is --state set?");
}

/** @throws TradewindError `webhook-unusable` where the file or the address cannot be used */
async function post(file: string, text: string, { timeout }: Pick<Flags, "timeout">): Promise<void> {
  const url = (
    await readFile(file, "utf8").catch((error: unknown) => {
      throw new TradewindError("webhook-unusable", `cannot read ${file}: ${describeError(error)}`);
    })
  ).trim();
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new TradewindError("webhook-unusable", `${file} holds no http:// or https:// address`);
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ text }),
    signal: AbortSignal.timeout(1e3 * timeout),
  }).catch((error: unknown) => {
    throw new TradewindError("webhook-unusable", `the webhook cannot be reached: ${describeError(error)}`);
  });
  if (!answer.ok) throw new TradewindError("webhook-unusable", `the webhook answered ${answer.status}`);
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
