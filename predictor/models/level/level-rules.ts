import { median } from "@tradewind/core/values/statistics.ts";

/** What the rules see of a window: logarithms of the load of a container and of the p95 of the self time. */
export interface LevelPoint {
  readonly load: number;
  readonly time: number;
}

/** Rules of one line for the p95 at a load, by the windows before. */
export const RULES = ["lastValue", "median", "kernel", "logLinear"] as const;
export type Rule = (typeof RULES)[number];

/** Windows that rules look back on. */
export const LOOKED_BACK = 240;
const MEDIAN_WINDOWS = 20;
/** Loads within this of each other, as ln, are near. */
const KERNEL_WIDTH = 0.15;
/** Less than this in all: no window was near. */
const LEAST_NEAR = 0.05;
const LINE_KEPT = 0.98;
/** Weight of the belief that load does nothing, in windows whose load is off by e. */
const FLATNESS = 1;

/** ln p95 by each rule; NaN before the first window. @param points oldest first */
export function askRules(points: readonly LevelPoint[], load: number): Record<Rule, number> {
  const recent = points.slice(-LOOKED_BACK);
  const last = recent.at(-1)?.time ?? Number.NaN;
  const middle = median(recent.slice(-MEDIAN_WINDOWS).map(({ time }) => time));
  return {
    lastValue: last,
    median: middle,
    kernel: kernelOf(recent, load, middle),
    logLinear: lineOf(recent, load),
  };
}

/** Mean of windows at about this load. */
function kernelOf(points: readonly LevelPoint[], load: number, otherwise: number): number {
  let [sum, near] = [0, 0];
  for (const point of points) {
    const weight = Math.exp(-(((point.load - load) / KERNEL_WIDTH) ** 2) / 2);
    sum += weight * point.time;
    near += weight;
  }
  return near < LEAST_NEAR ? otherwise : sum / near;
}

/** A line through ln load and ln p95, in which older windows count less. */
function lineOf(points: readonly LevelPoint[], load: number): number {
  let [weights, loads, times, square, product] = [0, 0, 0, 0, 0];
  for (const [i, point] of points.entries()) {
    const weight = LINE_KEPT ** (points.length - 1 - i);
    weights += weight;
    loads += weight * point.load;
    times += weight * point.time;
    square += weight * point.load ** 2;
    product += weight * point.load * point.time;
  }
  const [middleLoad, middleTime] = [loads / weights, times / weights];
  const slope =
    (product - weights * middleLoad * middleTime) / (square - weights * middleLoad ** 2 + FLATNESS);
  return middleTime + slope * (load - middleLoad);
}
