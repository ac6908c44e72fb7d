import { writeFile } from "node:fs/promises";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { createProgress } from "@tradewind/local/screen/progress.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";
import { backtest } from "../backtest/backtest.ts";
import { htmlReport } from "../backtest/report/html.ts";
import { terminalReport } from "../backtest/report/terminal.ts";
import { BACKTEST_CONTENDERS } from "../backtest/contenders.ts";
import { readPrometheus, readStored } from "./read-recording.ts";

const EXAMPLES = `
Examples:
  tradewind backtest --config application.yaml --state /var/lib/tradewind --from 7d
      The last week as the predictor stored it: fits on the first half, replays policies on the second.
  tradewind backtest --config application.yaml --sources application.yaml --from 14d --html report.html
      The same from Prometheus or VictoriaMetrics (section 'sources' of the file), as a page for a browser.
  tradewind backtest --config run/application.yaml --state run --policies hpa-cpu,tradewind-auto --json
      A recording of 'npm start -- --state run', two policies, machine-readable.

First it says how far its models are off on the part of the recording that they did not see; replayed figures are worth no
more than that.

${exitCodes("done", "failed")}`;

interface Flags {
  readonly config?: string;
  readonly application?: string;
  readonly state?: string;
  readonly sources?: string;
  readonly from?: number;
  readonly to?: number;
  readonly fit: number;
  readonly policies?: string;
  readonly podStart: number;
  readonly seed: number;
  readonly json: boolean;
  readonly html?: string;
}

function ratio(text: string): number {
  const value = Number(text.replace("%", "")) / (text.endsWith("%") ? 100 : 1);
  if (value > 0 && value < 1) return value;
  throw new InvalidArgumentError("write a share between 0 and 1, such as 0.5 or 50%");
}

function seconds(text: string): number {
  try {
    return parseDurationSeconds(text);
  } catch {
    throw new InvalidArgumentError("write a duration such as 45s");
  }
}

function chosen(policies: string | undefined): typeof BACKTEST_CONTENDERS {
  if (policies === undefined) return BACKTEST_CONTENDERS;
  return policies.split(",").map((name) => {
    const found = BACKTEST_CONTENDERS.find((each) => each.name === name.trim());
    if (found !== undefined) return found;
    const names = BACKTEST_CONTENDERS.map((each) => each.name).join(", ");
    throw new TradewindError("invalid-policy", `no policy '${name.trim()}'; there are: ${names}`);
  });
}

async function run(flags: Flags): Promise<void> {
  const contenders = chosen(flags.policies);
  const { config = flags.application } = flags;
  if (config === undefined)
    throw new TradewindError("invalid-input", "give --config, the application's file");
  const application = await readApplication(config);
  const progress = createProgress(process.stderr, process.env);
  const query = { fromMs: flags.from ?? 0, toMs: flags.to ?? systemClock.nowMs() };
  const beganMs = performance.now();
  const show = (what: string, doneRatio: number): void => {
    const elapsed = (performance.now() - beganMs) / 1e3;
    const left = doneRatio > 0 ? `, about ${Math.ceil((elapsed * (1 - doneRatio)) / doneRatio)} s left` : "";
    progress.show(`${what}: ${Math.round(100 * doneRatio)} %${left}`);
  };
  if ((flags.state === undefined) === (flags.sources === undefined)) {
    throw new TradewindError("invalid-input", "give --state or --sources, and not both");
  }
  const sets =
    flags.state !== undefined
      ? readStored(flags.state, query, application)
      : await readPrometheus(flags.sources ?? "", application, query, {
          log: createLog("backtest", "warn"),
          onProgress: (done) => show("reading the past", done),
        });
  const report = await backtest({
    application,
    sets,
    fitRatio: flags.fit,
    contenders,
    podStartSeconds: flags.podStart,
    seed: flags.seed,
    onProgress: show,
  }).catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error;
    throw new TradewindError("history-too-short", error.message, { cause: error });
  });
  if (flags.html !== undefined) {
    await writeFile(flags.html, htmlReport(report));
    progress.say(`the page is in ${flags.html}`);
  }
  printAnswer({ json: report, text: (paint) => terminalReport(report, paint) }, flags.json);
}

/** Adds what `tradewind backtest` takes and does. */
export function configure(command: Command): void {
  addJsonFlag(command)
    .description("Replay policies on what was recorded, after saying how far its models can be believed.")
    .option("--config <file>", "the application's configuration, YAML or JSON")
    .addOption(new Option("--application <file>", "the same as --config").hideHelp())
    .option("--state <directory>", "a predictor's state directory; it may be running")
    .option("--sources <file>", "configuration with sources.prometheus: read the past from there instead")
    .option(
      "--from <time>",
      "begin: an ISO time, or how long ago, for example 7d (default: all there is)",
      timeArgument,
    )
    .option("--to <time>", "end, as --from (default: now)", timeArgument)
    .option("--fit <share>", "share of the time that models are fitted on", ratio, 0.5)
    .option(
      "--policies <names>",
      `comma-separated (default: ${BACKTEST_CONTENDERS.map(({ name }) => name).join(",")})`,
    )
    .option("--pod-start <duration>", "from the creation of a pod until it is ready", seconds, 45)
    .option("--seed <number>", "of the errors that replays draw", Number, 1)
    .option("--html <file>", "write a page with plots there, readable without a network")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => run(flags));
}
