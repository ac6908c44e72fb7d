/**
 * `npm run fuzz -- --minutes N [--target T] [--seed S] [--workers 2] [--json]` gives mutated input to every parser and port.
 * `npm run fuzz -- --target T --seed S --case K` tries one case again. Exit code 1: something broke; 2: not understood.
 */
import { parseArgs } from "node:util";
import { Campaign } from "./engine/campaign.ts";
import type { Tally } from "./engine/campaign.ts";
import { runSlice } from "./engine/run.ts";
import { replayCommand } from "./engine/target.ts";
import type { Finding, Target } from "./engine/target.ts";
import { TARGETS } from "./targets/list.ts";

const USAGE = `usage: npm run fuzz -- [--minutes 1] [--target NAME] [--seed 1] [--workers 2] [--json]
       npm run fuzz -- --target NAME --seed N --case K [--cases COUNT]
       npm run fuzz -- --list
`;
const PROGRESS_MS = 10_000;

const write = (text: string): void => void process.stdout.write(text);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

function options() {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "1" },
      target: { type: "string", default: "" },
      seed: { type: "string", default: "1" },
      workers: { type: "string", default: "2" },
      case: { type: "string" },
      cases: { type: "string" },
      json: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const number = (name: "minutes" | "seed" | "workers" | "case" | "cases", least: number): number => {
    const value = Number(values[name]);
    if (!(value >= least)) throw new TypeError(`--${name} takes a number of at least ${least}`);
    return value;
  };
  return {
    ...values,
    minutes: number("minutes", 0),
    seed: number("seed", 0),
    workers: number("workers", 1),
    case: values.case === undefined ? undefined : number("case", 0),
    cases: values.cases === undefined ? undefined : number("cases", 1),
  };
}
type Options = ReturnType<typeof options>;

/** The target of that name, else all whose names hold the text. */
function chosen(text: string): readonly Target[] {
  const exact = TARGETS.filter(({ name }) => name === text);
  return exact.length > 0 ? exact : TARGETS.filter(({ name }) => name.includes(text));
}

function describe(finding: Finding): string {
  const { drawnBytes, input, inputBytes, kind, message, target } = finding;
  return [
    `BROKEN ${target} (${kind}): ${message}`,
    `  input, ${inputBytes} of ${drawnBytes} bytes: ${input}`,
    `  again: ${replayCommand(finding)}`,
  ].join("\n");
}

/** Runs a few cases in this process, with stacks. */
async function replay(target: Target, { case: from = 0, cases = 1, json, seed }: Options): Promise<number> {
  await target.open?.();
  try {
    const { finding, ran } = await runSlice(target, seed, { from, count: cases });
    if (json) write(`${JSON.stringify({ target: target.name, ran, finding: finding ?? null })}\n`);
    else say(finding === undefined ? `${target.name}: ${ran} cases held` : describe(finding));
    return finding === undefined ? 0 : 1;
  } finally {
    await target.close?.();
  }
}

async function campaign(targets: readonly Target[], given: Options): Promise<number> {
  const { cases = Infinity, json, minutes, seed, workers } = given;
  const startedMs = performance.now();
  const seconds = 60 * minutes;
  const run = new Campaign({
    targets,
    seed,
    workers,
    seconds,
    casesEach: cases,
    onFinding: (finding) => say(describe(finding)),
  });
  const progress = setInterval(() => say(progressOf(run.tallies, startedMs, seconds)), PROGRESS_MS);
  process.once("SIGINT", () => run.stop());
  await run.run();
  clearInterval(progress);
  const report = reportOf(run.tallies, given, (performance.now() - startedMs) / 1e3);
  if (json) write(`${JSON.stringify(report)}\n`);
  else write(tableOf(run.tallies));
  say(
    `${report.cases} cases of ${targets.length} targets in ${report.seconds} s, seed ${seed}: ${run.findings.length} findings`,
  );
  return run.findings.length === 0 ? 0 : 1;
}

const sumOf = (tallies: readonly Tally[]): number => tallies.reduce((sum, { cases }) => sum + cases, 0);

/** Counts of the targets that ran most lately would be too many for a line: the total, and how long is left. */
function progressOf(tallies: readonly Tally[], startedMs: number, seconds: number): string {
  const passed = (performance.now() - startedMs) / 1e3;
  const [total, begun] = [sumOf(tallies), tallies.filter(({ cases }) => cases > 0).length];
  const findings = tallies.reduce((sum, each) => sum + each.findings.length, 0);
  const left = Math.max(0, seconds - passed);
  const rate = Math.round(total / passed);
  return `${total} cases, ${rate}/s, ${begun} of ${tallies.length} targets begun, ${findings} findings, ${left.toFixed(0)} s left`;
}

function reportOf(tallies: readonly Tally[], { minutes, seed, workers }: Options, seconds: number) {
  return {
    seed,
    minutes,
    workers,
    seconds: Math.round(seconds),
    cases: sumOf(tallies),
    targets: tallies.map(({ cases, findings, seconds: spent, target: { kind, name } }) => ({
      name,
      kind,
      cases,
      casesPerSecond: Math.round(cases / Math.max(spent, 1e-3)),
      findings: findings.length,
    })),
    findings: tallies.flatMap(({ findings }) =>
      findings.map((each) => ({ ...each, again: replayCommand(each) })),
    ),
  };
}

function tableOf(tallies: readonly Tally[]): string {
  const lines = tallies.map(({ cases, findings, seconds, target: { name } }) => {
    const rate = `${Math.round(cases / Math.max(seconds, 1e-3))}/s`;
    return `${name.padEnd(30)} ${String(cases).padStart(10)} ${rate.padStart(10)} ${findings.length === 0 ? "" : `${findings.length} BROKEN`}`;
  });
  return `${lines.join("\n")}\n`;
}

async function main(): Promise<number> {
  process.removeAllListeners("warning");
  const given = options();
  const targets = chosen(given.target);
  if (given.help || targets.length === 0) {
    say(`${targets.length === 0 ? `no target '${given.target}'; --list shows them\n` : ""}${USAGE}`);
    return given.help ? 0 : 2;
  }
  if (given.list) {
    for (const { kind, name } of targets) write(`${name.padEnd(30)} ${kind}\n`);
    return 0;
  }
  const [only] = targets;
  if (given.case !== undefined && only !== undefined) return replay(only, given);
  return campaign(targets, given);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  say(`${error.message}\n${USAGE}`);
  process.exitCode = 2;
}
