import { Option } from "commander";
import type { Command } from "commander";
import { writeFile } from "node:fs/promises";
import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { parseWith } from "@tradewind/core/config.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { LOG_LEVELS } from "@tradewind/core/log.ts";
import { startLocal } from "./local.ts";
import { APPLICATION_NAMES } from "./application/applications.ts";
import { LocalOptions } from "./options.ts";
import type { LocalInput } from "./options.ts";
import { POLICY_FORMS } from "./policy.ts";
import { renderSummary } from "./screen/render.ts";
import { createScreen } from "./screen/screen.ts";
import type { Screen } from "./screen/screen.ts";
import { INTERRUPTED, onInterrupt } from "./supervise/interrupt.ts";

const EXAMPLES = `
Examples:
  tradewind local
      Watch an application of eight services stay inside its objective, until Ctrl-C.
  tradewind local --for 150s --policy queue --seed 7 --calibration work.json --json run.json
      A measured run that ends by itself; the same seed sends the same requests.
  tradewind local --for 150s --policy auto --seed 7 --calibration work.json --json auto.json
      The same load and the same work, at the cheapest sizes: CPU and memory of running replicas move too.
  tradewind local --for 150s --policy static --seed 7 --calibration work.json --json static.json
      The same without any scaling, to compare with.
  tradewind local --for 150s --policy hpa:60 --seed 7 --calibration work.json --json hpa.json
      The same load with a HorizontalPodAutoscaler at 60 % CPU instead: what a cluster has without Tradewind.
  tradewind local --load rates.txt --objective 400ms
      Your own load: requests per second, one value a line, spread over the run.

The application sends real traces over OTLP, burns real CPU under a real quota where the machine permits it, and its
replicas are processes that are started and stopped as KEDA and a HorizontalPodAutoscaler would do it, with shorter
periods (poll and sync 3 s, scale-down window 20 s). See docs/local.md.

Exit codes: 0 the run ended (without --for: Ctrl-C is its end), 1 a process failed, 2 not understood,
130 stopped by Ctrl-C before the end of --for.`;

async function writeReport(target: string, report: RunReport): Promise<void> {
  const text = `${JSON.stringify(report, null, 2)}\n`;
  if (target === "-") {
    process.stdout.write(text);
    return;
  }
  try {
    await writeFile(target, text);
  } catch (error) {
    throw new TradewindError("report-not-written", `the report could not be written to ${target}`, {
      cause: error,
    });
  }
}

async function run(input: LocalInput): Promise<void> {
  const options = parseWith(LocalOptions, input, "the command line");
  const stream = options.json === "-" ? process.stderr : process.stdout;
  const screen = createScreen(stream, process.env);
  // A closed terminal or pipe ends the run like a signal does.
  stream.once("error", () => process.emit("SIGHUP")).on("error", () => undefined);
  const interrupted = new AbortController();
  const release = onInterrupt(() => {
    screen.say("stopping; once more leaves at once");
    interrupted.abort();
  });
  try {
    screen.say("starting the application and Tradewind ...");
    const report = await runToItsEnd(options, screen, interrupted.signal);
    screen.close();
    if (report !== undefined) screen.say(renderSummary(report));
    if (interrupted.signal.aborted && options.for !== undefined) {
      process.exitCode = INTERRUPTED;
    } else if (report !== undefined && options.json !== undefined) {
      await writeReport(options.json, report);
      if (options.json !== "-") screen.say(`the figures are in ${options.json}`);
    }
  } finally {
    screen.close();
    release();
  }
}

/** @returns undefined when it was interrupted before the load began */
async function runToItsEnd(
  options: LocalOptions,
  screen: Screen,
  signal: AbortSignal,
): Promise<RunReport | undefined> {
  try {
    const local = await startLocal(options, screen, signal);
    signal.addEventListener("abort", () => void local.stop());
    if (signal.aborted) void local.stop();
    return await local.finished;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Adds what `tradewind local` takes and does. */
export function configure(command: Command): void {
  command
    .description(
      "Runs a small application, its load and all of Tradewind on this machine, and shows what happens.",
    )
    .option(
      "--for <duration>",
      "end by itself after this time, for example 150s or 5m (default: run until Ctrl-C)",
    )
    .addOption(
      new Option("--application <name>", "what runs: a hotel reservation or a web shop")
        .choices(APPLICATION_NAMES)
        .default("hotel"),
    )
    .option(
      "--policy <policy>",
      `what decides, one of ${POLICY_FORMS}: the cheapest sizes, queue balancing, nobody, an HPA on CPU (percent), KEDA on requests/s of a replica`,
      "auto",
    )
    .option("--seed <number>", "the same seed sends the same requests", "7")
    .option("--objective <duration>", "objective of the 95th percentile of latency", "200ms")
    .option(
      "--load <file>",
      "requests per second, one value a line (default: a surge to three times the rate)",
    )
    .option("--json <file>", "write the figures of the run there, - for standard output")
    .option(
      "--state <directory>",
      "keep state and logs there (default: a temporary directory, removed at the end)",
    )
    .addOption(
      new Option("--quota <kind>", "how CPU limits are kept")
        .choices(["auto", "cgroup", "emulated"])
        .default("auto"),
    )
    .addOption(
      new Option(
        "--interference <kind>",
        "what disturbs the application: stress-ng when installed, or a built-in hog",
      )
        .choices(["auto", "built-in", "none"])
        .default("auto"),
    )
    .addOption(
      new Option("--ports <which>", "the documented ports, where free, or any free ones")
        .choices(["preferred", "free"])
        .default("preferred"),
    )
    .option(
      "--calibration <file>",
      "how much work a millisecond is: read from there, or measured and written there (default: measured)",
    )
    .addOption(
      new Option("--log-level <level>", "what the processes log, into the state directory")
        .choices(LOG_LEVELS)
        .default("info"),
    )
    .addHelpText("after", EXAMPLES)
    .action(async (flags: LocalInput) => run(flags));
}
