import { Option } from "commander";
import type { Command } from "commander";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunReport } from "@tradewind/core/contract/run-report.ts";
import type { RunComparison } from "@tradewind/core/contract/run-report.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { exitCodes } from "@tradewind/core/terminal/answer.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";
import { startLocal } from "./local.ts";
import type { LocalSurroundings } from "./local.ts";
import { APPLICATION_NAMES } from "./application/applications.ts";
import { FAULT_FORM } from "./fault/fault-text.ts";
import { FAULT_KINDS, FAULT_WORDS } from "./application/service-fault.ts";
import { LocalOptions } from "./options.ts";
import type { LocalInput } from "./options.ts";
import { DEFAULT_RIVAL, isRecording, POLICY_FORMS } from "./policy.ts";
import type { Rival } from "./screen/picture.ts";
import { renderSummary } from "./screen/summary.ts";
import { createScreen } from "./screen/screen.ts";
import { renderVerdict } from "./screen/verdict.ts";
import { INTERRUPTED, onInterrupt } from "./supervise/interrupt.ts";

/** Length of a compared run without --for: each phase once. */
const COMPARED_SECONDS = 150;

const EXAMPLES = `
Examples:
  tradewind local
      Watch an application of eight services stay inside its objective, until Ctrl-C.
  tradewind local --compare
      The same load twice, five minutes in all: under a HorizontalPodAutoscaler at 60 % CPU, then under Tradewind, and a verdict.
  tradewind local --for 150s --policy hpa:60 --json hpa.json
  tradewind local --for 150s --compare hpa.json
      The first command records the rival; the second runs Tradewind beside the recording, which is marked as one.
  tradewind local --for 150s --policy queue --seed 7 --calibration work.json --json run.json
      A measured run that ends by itself; the same seed sends the same requests.
  tradewind local --for 150s --policy auto --seed 7 --calibration work.json --json auto.json
      The same load and the same work, at the cheapest sizes: CPU and memory of running replicas move too.
  tradewind local --for 150s --policy static --seed 7 --calibration work.json --json static.json
      The same without any scaling, to compare with.
  tradewind local --policy static --interference none --fault rate:cpu@60s+60s
      Something goes wrong in one service and nothing is scaled; ask another terminal's tradewind explain what and why.
  tradewind local --load rates.txt --objective 400ms
      Your own load: requests per second, one value a line, spread over the run.
  tradewind local --for 5m --load-utilisation machine.txt --users users.txt
      A trace that holds CPU use and no requests, by users who change what they do.

The application sends real traces over OTLP, burns real CPU under a real quota where the machine permits it, and its
replicas are processes that are started and stopped as KEDA and a HorizontalPodAutoscaler would do it, with shorter
periods (poll and sync 3 s, scale-down window 20 s). On a terminal w asks what if, e explains, k kills
the predictor, ? lists the keys, q ends the run. See docs/local.md.

Kinds of --fault:
${FAULT_KINDS.map((kind) => `  ${kind.padEnd(11)}${FAULT_WORDS[kind]}`).join("\n")}

${exitCodes("the run ended (without --for: Ctrl-C is its end)", "a process failed", "130 stopped by Ctrl-C before the end of --for")}`;

/** As the command line gives them: `--compare` may stand alone. */
type LocalFlags = Omit<LocalInput, "compare"> & { readonly compare?: string | true };

async function writeReport(target: string, report: RunReport | RunComparison): Promise<void> {
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
  const { signal } = interrupted;
  const release = onInterrupt(() => {
    screen.say("stopping; once more leaves at once");
    interrupted.abort();
  });
  try {
    const report = await (options.compare === undefined
      ? runAlone(options, { screen, signal })
      : runCompared(options, options.compare, { screen, signal }));
    if (signal.aborted && (options.for !== undefined || options.compare !== undefined)) {
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

/** One run and its table by phase. */
async function runAlone(
  options: LocalOptions,
  surroundings: LocalSurroundings,
): Promise<RunReport | undefined> {
  const { screen } = surroundings;
  screen.say("starting the application and Tradewind ...");
  const report = await runToItsEnd(options, surroundings);
  screen.close();
  if (report !== undefined) screen.say(renderSummary(report));
  return report;
}

/** @returns undefined when it was interrupted before the load began */
async function runToItsEnd(
  options: LocalOptions,
  surroundings: LocalSurroundings,
): Promise<RunReport | undefined> {
  const { signal } = surroundings;
  try {
    const local = await startLocal(options, surroundings);
    signal.addEventListener("abort", () => void local.stop());
    if (signal.aborted) void local.stop();
    return await local.finished;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** The rival first, unless its run is read from a file, then ours beside it, with the same work and the same requests. */
async function runCompared(
  options: LocalOptions,
  rival: string,
  { screen, signal }: LocalSurroundings,
): Promise<RunComparison | undefined> {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-compare-"));
  try {
    const calibration = options.calibration ?? join(directory, "work.json");
    const shared = { ...options, for: options.for ?? COMPARED_SECONDS, calibration };
    const recorded = isRecording(rival);
    if (!recorded) screen.say(`1 of 2: ${rival}`);
    const theirs = recorded
      ? await readRecording(rival, shared)
      : await runAlone({ ...shared, policy: rival }, { screen, signal });
    if (theirs === undefined || signal.aborted) return undefined;
    screen.say(recorded ? `beside the recording ${rival}` : `2 of 2: ${options.policy}`);
    const ours = await runAlone(shared, { screen, signal, rival: ghostOf(theirs, recorded) });
    if (ours === undefined || signal.aborted) return undefined;
    const comparison = { recorded, rival: theirs, ours };
    screen.say(`\n${renderVerdict(comparison)}`);
    return comparison;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const ghostOf = ({ policy, timeline }: RunReport, isRecorded: boolean): Rival => ({
  name: policy,
  isRecorded,
  p95Seconds: (timeline?.p95Ms ?? []).map((ms) => (ms === null ? undefined : ms / 1e3)),
});

/**
 * The report of a run that is to be compared with.
 * @throws TradewindError `recording-differs` when it is of another load than the run that is asked for
 */
async function readRecording(path: string, options: LocalOptions): Promise<RunReport> {
  const report = await readFile(path, "utf8").then(
    (text) => parseWith(RunReport, parseJson(text, path), path),
    (error: unknown) => {
      throw new TradewindError("recording-not-read", `the recording ${path} could not be read`, {
        cause: error,
      });
    },
  );
  const differs = (
    [
      ["--application", report.application, options.application],
      ["--seed", report.seed, options.seed],
      ["--objective", report.objectiveMs, options.objective * 1e3],
      ["--for", report.phases.at(-1)?.toS, options.for],
    ] as const
  ).filter(([, theirs, asked]) => theirs !== asked);
  if (differs.length === 0) return report;
  const what = differs.map(([flag, theirs, asked]) => `${flag} ${theirs}, not ${asked}`).join("; ");
  throw new TradewindError("recording-differs", `${path} is of another load: ${what}`);
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TradewindError("recording-not-read", `${path} is not JSON`, { cause: error });
  }
}

/** Adds what `tradewind local` takes and does. */
export function configure(command: Command): void {
  command
    .description(
      "Run a small application, its load and all of Tradewind on this machine, and show what happens.",
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
      `what decides, one of ${POLICY_FORMS}: the cheapest sizes, queue balancing, nobody, students alone (the predictor is gone from 30 s on), an HPA on CPU (percent), KEDA on requests/s of a replica`,
      "auto",
    )
    .option(
      "--compare [rival]",
      `run a rival's policy first on the same load and close with a verdict; or the report (.json) of a run that is shown instead (default: ${DEFAULT_RIVAL})`,
    )
    .option("--seed <number>", "the same seed sends the same requests", "7")
    .option("--objective <duration>", "objective of the 95th percentile of latency", "200ms")
    .option(
      "--load <file>",
      "requests per second, one value a line (default: a surge to three times the rate)",
    )
    .option(
      "--load-utilisation <file>",
      "CPU in use, 0 to 1, one value a line: requests that keep the first containers as busy",
    )
    .option(
      "--users <file>",
      "shares of the routes, one row a line, spread over the run: users who searched buy (default: always the same)",
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
    .option(
      "--fault <fault>",
      `break a service during the run: ${FAULT_FORM}, for example geo:cpu@60s+30s (default time: @45s+40s)`,
    )
    .option(
      "--kill-predictor <time>",
      "kill the predictor for good this long after the start of the load, to see what the scaler does alone",
    )
    .addOption(
      new Option("--silence <what>", "what the scaler does while no plan comes")
        .choices(["students", "hold"])
        .default("students"),
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
    .action(async ({ compare, ...flags }: LocalFlags) =>
      run({
        ...flags,
        ...(compare !== undefined && { compare: compare === true ? DEFAULT_RIVAL : compare }),
      }),
    );
}
