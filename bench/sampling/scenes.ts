import { GuardChannel } from "../../agent/sampling/guard.ts";
import { recordedContainers } from "./containers.ts";
import { guardAlarms, neighbours } from "./node.ts";
import { noisyTraces } from "./noisy.ts";
import { cycleOffset } from "./ours.ts";
import { syntheticTraces } from "./synthetic.ts";
import { totalAt, totals } from "./trace.ts";
import type { Trace } from "./trace.ts";

export const TOLERANCE = 0.05;
export const GUARD_FLOOR = 2 * TOLERANCE;

/** A signal among the others of its node. */
export interface Scene {
  readonly trace: Trace;
  readonly total: Float64Array;
  /** By second what the guard answers. */
  readonly alarms: readonly boolean[];
  readonly seed: number;
  readonly tolerance: number;
}

export function counting(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

export function scenes(
  seeds: readonly number[],
  seconds: number,
  traces: (seed: number) => readonly Trace[],
): Scene[] {
  return seeds.flatMap((seed) => {
    const others = neighbours(seed, seconds);
    return traces(seed).map((trace) => {
      const total = totals(trace.rates);
      const alarms = guardAlarms(total, others, GUARD_FLOOR, cycleOffset(seed));
      return { trace, total, alarms, seed, tolerance: TOLERANCE };
    });
  });
}

export function syntheticScenes(seeds: readonly number[], seconds: number): Scene[] {
  return scenes(seeds, seconds, (seed) => syntheticTraces(seed, seconds));
}

const BLIND_SHAPE = "bursts, noise 0.2 eps";

/** The noisy signals, and one that jumps every five minutes while the guard does not see it. */
export function noisyScenes(seeds: readonly number[], seconds: number): Scene[] {
  const all = scenes(seeds, seconds, (seed) => noisyTraces(seed, seconds, TOLERANCE));
  const unseen = all.filter(({ trace }) => trace.name === BLIND_SHAPE).map(blinded);
  return [...all, ...unseen];
}

function blinded({ trace, total, alarms, seed, tolerance }: Scene): Scene {
  const { structured, rates, episodes } = trace;
  const name = `${BLIND_SHAPE}, blind guard`;
  const silent = alarms.map(() => false);
  return { trace: { name, structured, rates, episodes }, total, alarms: silent, seed, tolerance };
}

/** Containers that serve requests, with the guard of the agent: the CPU time of their node, which has ticks of 10 ms. */
export function servingScenes(file: string): Scene[] {
  return recordedContainers(file).map(({ rates, node, tolerance }, index) => {
    const guard = new GuardChannel({ kind: "counter", floor: GUARD_FLOOR });
    const seed = index + 1;
    const alarms = Array.from(node, (_, second) => {
      const at = second + cycleOffset(seed);
      const ticks = Math.round(totalAt(node, at) * 100) / 100;
      return guard.observe(ticks, at * 1e3);
    });
    const half = index % 2 === 0 ? "tuning" : "test";
    const trace = { name: `serving, ${half} half`, structured: true, rates, episodes: [] };
    return { trace, total: totals(rates), alarms, seed, tolerance };
  });
}
