import { describeError } from "@tradewind/core/values/errors.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import type { Fault, FaultRow, SkippedRow } from "./fault.ts";
import { FAULTS } from "./list.ts";
import { play } from "./run.ts";
import { whyNot } from "../stage/setting.ts";
import type { StageKind } from "../stage/setting.ts";
import { Stage } from "../stage/stage.ts";

/** About how long a fault takes with its recovery, for the time that is left. */
const SECONDS_EACH = 16;

/**
 * Two predictors and two exporters as they run in a cluster, real spans of a small application whose true need is known, and a
 * client that asks each exporter twenty times a second. One fault at a time is made and then made good. A number is wrong when
 * it is 0, no number, out of bounds, or below what the application needs and had.
 */
export const benchmark: Benchmark = {
  summary: "every fault of docs/faults.md against real processes: wrong numbers, lost state, time to recover",
  options: { only: { type: "string" } },
  run,
};

async function run({ progress, quick, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const only = typeof values["only"] === "string" ? values["only"] : undefined;
  const startedMs = performance.now();
  const chosen = chosenBy(only, quick);
  const rows: (FaultRow | SkippedRow)[] = [];
  for (const [kind, faults] of Map.groupBy(chosen, ({ stage }) => stage ?? "plain")) {
    const why = await whyNot(kind);
    if (why === undefined) await playAll(kind, faults, rows, chosen.length, progress);
    for (const { name } of why === undefined ? [] : faults) {
      progress(`SKIPPED ${name}: ${why}`);
      rows.push({ name, skipped: why ?? "" });
    }
  }
  const played = rows.filter((row) => "broken" in row);
  const broken = played.filter((row) => row.broken.length > 0);
  return {
    faults: rows,
    played: played.length,
    held: played.length - broken.length,
    skipped: rows.length - played.length,
    wrongNumbers: played.reduce((sum, { wrongNumbers }) => sum + wrongNumbers, 0),
    scaleDowns: played.reduce((sum, { scaleDowns }) => sum + scaleDowns, 0),
    seconds: Math.round((performance.now() - startedMs) / 1e3),
  };
}

/** @param only names, separated by commas */
function chosenBy(only: string | undefined, quick: boolean): readonly Fault[] {
  if (only === undefined) return FAULTS.filter((fault) => !quick || fault.quick === true);
  const names = only.split(",");
  const strangers = names.filter((name) => !FAULTS.some((fault) => fault.name === name));
  if (strangers.length > 0) {
    throw new Error(
      `there is no fault ${strangers.join()}; there are ${FAULTS.map(({ name }) => name).join(", ")}`,
    );
  }
  return FAULTS.filter(({ name }) => names.includes(name));
}

/** Plays faults on one stage after the other: a new one where the last fault left it in disorder. */
async function playAll(
  kind: StageKind,
  faults: readonly Fault[],
  rows: (FaultRow | SkippedRow)[],
  total: number,
  progress: BenchmarkOptions["progress"],
): Promise<void> {
  let stage: Stage | undefined;
  try {
    for (const fault of faults) {
      progress(`${fault.name}: ${fault.summary} (about ${(total - rows.length) * SECONDS_EACH} s left)`);
      stage ??= await Stage.start(kind);
      const row = await play(fault, stage).catch((error: unknown) => failedRow(fault, error));
      rows.push(row);
      progress(
        `  ${row.broken.length === 0 ? "held" : `BROKEN: ${row.broken.join("; ")}`} ${JSON.stringify(row)}`,
      );
      if (row.recoveredSeconds !== null) continue;
      await stage.stop();
      stage = undefined;
    }
  } finally {
    await stage?.stop();
  }
}

/** A fault that could not be played to its end counts as broken: nothing is known of it. */
function failedRow({ name }: Fault, error: unknown): FaultRow {
  return {
    name,
    wrongNumbers: 0,
    scaleDowns: 0,
    storedLost: 0,
    unavailableSeconds: 0,
    recoveredSeconds: null,
    rssBytesMax: 0,
    getMetricsP99Ms: null,
    livenessFailures: 0,
    exportsRefused: 0,
    broken: [`could not be played: ${describeError(error)}`],
  };
}
