import { existsSync, readFileSync } from "node:fs";
import { parseJsonWith } from "@tradewind/core/config.ts";
import { SweepRow } from "@tradewind/core/contract/sweep.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import { estimatePriorWeight } from "@tradewind/predictor/profile/prior-weight.ts";
import { estimateState } from "@tradewind/predictor/profile/service-state.ts";
import type { Observation } from "@tradewind/predictor/profile/service-state.ts";
import { inputsOf, observationOf } from "@tradewind/predictor/profile/window-inputs.ts";
import { FOLDS, STATE_WINDOWS } from "@tradewind/predictor/training/rows.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import type { Dataset, ServiceRows } from "../dataset.ts";

interface Point {
  readonly sweep: SweepRow;
  readonly observation: Observation;
}

/** A configuration without its load: what a split leaves out whole. */
const settingOf = ({ configuration: { replicas, cpuCores, memoryBytes, interference } }: SweepRow): string =>
  [replicas, cpuCores, memoryBytes ?? "-", interference].join(" ");

const SHARE_LEFT_OUT = 4;

/** Windows with fewer calls have no 95th percentile to speak of: one call decides it. */
const LEAST_CALLS = 30;

/**
 * Standard error of a measured p95 over its value, from the window itself: sqrt(p (1 − p) / n) / f(q), with the density f at
 * the quantile from an exponential tail between p95 and p99 (asymptotic variance of a sample quantile).
 */
function samplingError({ ownLatency }: Window): number {
  if (ownLatency === undefined) return Number.NaN;
  const { count, p95Seconds, p99Seconds } = ownLatency;
  const tailScaleSeconds = (p99Seconds - p95Seconds) / Math.log(5);
  const density = 0.05 / Math.max(tailScaleSeconds, 1e-9);
  return Math.sqrt((0.05 * 0.95) / count) / density / p95Seconds;
}

/** Mean of |x| of a standard normal x. */
const MEAN_ABSOLUTE_NORMAL = Math.sqrt(2 / Math.PI);

function pointsByService(path: string): Map<string, Point[]> {
  const groups = new Map<string, Point[]>();
  const lines = readFileSync(path, "utf8").split("\n");
  for (const [i, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const sweep = parseJsonWith(SweepRow, line, `${path} line ${i + 1}`);
    const observation = observationOf(sweep.window, 0.95);
    const calls = sweep.window.ownLatency?.count ?? 0;
    if (!sweep.settled || calls < LEAST_CALLS || !((observation?.latencySeconds ?? 0) > 0)) continue;
    if (observation === undefined) continue;
    const points = groups.get(sweep.window.service) ?? [];
    groups.set(sweep.window.service, points);
    points.push({ sweep, observation });
  }
  return groups;
}

/** State from windows before the present configuration began: what is known when a plan considers it. */
function rowOf(points: readonly Point[], index: number, weight: number): TrainingRow | undefined {
  const point = points[index];
  if (point === undefined) return undefined;
  const id = point.sweep.configuration.id;
  const before = points
    .slice(0, index)
    .filter(({ sweep }) => sweep.configuration.id !== id)
    .slice(-STATE_WINDOWS)
    .map(({ observation }) => observation);
  return {
    atMs: point.observation.atMs,
    input: inputsOf(point.sweep.window, estimateState(before, weight)),
    latencySeconds: point.observation.latencySeconds,
  };
}

function serviceRows(
  service: string,
  points: readonly Point[],
  split: "configuration" | "time",
): ServiceRows {
  const settings = [...new Set(points.map(({ sweep }) => settingOf(sweep)))].sort();
  const place = (point: Point): number => settings.indexOf(settingOf(point.sweep));
  const cut = points[Math.floor(points.length * 0.7)]?.observation.atMs ?? 0;
  const isTest = (point: Point): boolean =>
    split === "time" ? point.observation.atMs >= cut : place(point) % SHARE_LEFT_OUT === 1;
  const seen = points.filter((point) => !isTest(point)).map(({ observation }) => observation);
  const priorWeight = estimatePriorWeight(seen);
  const rows = points.map((_, i) => rowOf(points, i, priorWeight));
  const rowsWhere = (keep: (point: Point) => boolean): TrainingRow[] =>
    points.flatMap((point, i) => {
      const row = rows[i];
      return row !== undefined && keep(point) ? [row] : [];
    });
  const middleLoad = median(points.map(({ observation }) => observation.loadPerContainer));
  const calm = points.filter(({ observation }) => observation.loadPerContainer <= middleLoad);
  return {
    service,
    priorWeight,
    // Windows of one setting stay together.
    folds: Array.from({ length: FOLDS }, (_, fold) =>
      rowsWhere((point) => !isTest(point) && place(point) % FOLDS === fold),
    ).filter((fold) => fold.length > 0),
    test: rowsWhere(isTest),
    calmSeconds: median(calm.map(({ observation }) => observation.latencySeconds)),
  };
}

function percentOf(ratios: readonly number[]): number {
  const known = ratios.filter(Number.isFinite);
  return Math.round((1e3 * known.reduce((sum, ratio) => sum + ratio, 0)) / Math.max(1, known.length)) / 10;
}

/** Where `tradewind profile` left its sweep of the local platform; undefined when there is none. */
export function sweepPath(): string | undefined {
  const path = process.env["TRADEWIND_SWEEP"];
  return path !== undefined && existsSync(path) ? path : undefined;
}

/** The profiling sweep of the local platform (JSON lines of `SweepRow`), by unseen settings and by a later time block. */
export function sweepDatasets(path: string): Dataset[] {
  const groups = pointsByService(path);
  return (["configuration", "time"] as const).map((split) => ({
    name: "platform-sweep",
    split,
    samplingNoise: percentOf(
      [...groups.values()].flat().map(({ sweep }) => MEAN_ABSOLUTE_NORMAL * samplingError(sweep.window)),
    ),
    notes:
      "local platform, real processes; left out: windows still settling, with fewer than 30 calls, without load, latency or " +
      "CPU; samplingNoise: mean error that a measured p95 has by chance, from the windows' own p95, p99 and calls; state from " +
      "windows before the present configuration began; " +
      (split === "time"
        ? "tested on the last 30 % of the time"
        : "tested on a quarter of the settings (replicas × allocation × interference), each left out whole"),
    inTime: true,
    services: [...groups]
      .map(([service, points]) => serviceRows(service, points, split))
      .filter(({ folds, test }) => folds.length > 1 && folds.flat().length >= 40 && test.length > 0),
  }));
}
