import { mean } from "@tradewind/core/values/statistics.ts";
import { CAUSE_TYPES } from "@tradewind/core/contract/cause.ts";

/** Where a cause lies: ORACL's C, D, M, N and what no resource mends. */
export const FAULT_TYPES = CAUSE_TYPES;
export type FaultType = (typeof FAULT_TYPES)[number];

/** What a signal says: time or failures that requests see, or what a resource shows. */
type Role = "load" | "time" | "failures" | "resource";

interface SignalSpec {
  readonly role: Role;
  /** Of a resource: the cause it points to. */
  readonly type?: FaultType;
  /** Smallest spread that counts, in the signal's unit: less is noise whatever the past was like. */
  readonly floor: number;
  /** High from here on, whatever the past was like. */
  readonly highFrom?: number;
  /** In words, with its unit. */
  readonly words: string;
}

/** Every signal of a service that a window or a recorded data set can hold. Absent ones are left out, never 0. */
export const SIGNALS = {
  requestRate: { role: "load", floor: 0.5, words: "requests per second" },
  selfTimeP95: { role: "time", floor: 0.001, words: "self-time p95, seconds" },
  responseP95: { role: "time", floor: 0.001, words: "response p95, seconds" },
  transitTime: { role: "time", type: "N", floor: 0.001, words: "network time of calls to it, seconds" },
  errorRatio: { role: "failures", floor: 0.005, highFrom: 0.02, words: "share of failed requests" },
  callsPerRequest: { role: "failures", floor: 0.05, words: "calls it makes for each request" },
  cpuUtilisation: {
    role: "resource",
    type: "C",
    floor: 0.05,
    highFrom: 0.85,
    words: "CPU use over its limit",
  },
  cpuCores: { role: "resource", type: "C", floor: 0.02, words: "CPU cores in use" },
  cpuSecondsPerRequest: { role: "resource", type: "C", floor: 0.0005, words: "CPU seconds for each request" },
  throttledRatio: {
    role: "resource",
    type: "C",
    floor: 0.05,
    highFrom: 0.2,
    words: "share of throttled periods",
  },
  memoryRatio: { role: "resource", type: "M", floor: 0.05, highFrom: 0.9, words: "memory over its limit" },
  memoryBytes: { role: "resource", type: "M", floor: 1e6, words: "memory in use, bytes" },
  oomKills: { role: "resource", type: "M", floor: 0.1, highFrom: 0.5, words: "kills for lack of memory" },
  diskBytes: { role: "resource", type: "D", floor: 1e5, words: "disk traffic, bytes per second" },
  interferenceCpu: { role: "resource", type: "I", floor: 0.05, highFrom: 0.5, words: "CPU interference" },
  interferenceMemory: {
    role: "resource",
    type: "I",
    floor: 0.05,
    highFrom: 0.5,
    words: "memory interference",
  },
  interferenceBandwidth: {
    role: "resource",
    type: "I",
    floor: 0.05,
    highFrom: 0.5,
    words: "memory-bandwidth interference",
  },
  interferenceNetwork: {
    role: "resource",
    type: "N",
    floor: 0.05,
    highFrom: 0.5,
    words: "network interference",
  },
  newVersion: {
    role: "resource",
    type: "V",
    floor: 0.1,
    highFrom: 0.5,
    words: "pods that run a new version",
  },
} as const satisfies Record<string, SignalSpec>;

export type SignalName = keyof typeof SIGNALS;
export const SIGNAL_NAMES = Object.keys(SIGNALS) as SignalName[];
export const signalSpec = (name: SignalName): SignalSpec => SIGNALS[name];

/** One signal of one service: values of windows in which all was well, and of the windows since it is not. Finite. */
export interface Series {
  readonly signal: SignalName;
  readonly normal: ArrayLike<number>;
  readonly now: ArrayLike<number>;
}

export const BINS = ["low", "medium", "high"] as const;
export type Bin = (typeof BINS)[number];

/** A signal judged against its own past. */
export interface Reading {
  readonly signal: SignalName;
  /** Mean since the onset. */
  readonly value: number;
  /** Median of the past; absent where too little is known of it. */
  readonly baseline?: number;
  /** Robust standard deviation of the past. */
  readonly spread?: number;
  /** (value - baseline) over spread; 0 without a baseline. */
  readonly z: number;
  readonly bin: Bin;
}

/** Beyond this many spreads a value is low or high. */
export const UNUSUAL = 2;
/** A change of less than this share of the baseline is no change. */
const LEAST_CHANGE = 0.05;
/** Median absolute deviation of a normal distribution times this is its standard deviation. */
const MAD_TO_SIGMA = 1.4826;

/** Of a sorted array; NaN of an empty one. */
function middle(sorted: Float64Array): number {
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}

/** Median and robust standard deviation; undefined of nothing. */
export function pastOf(
  values: ArrayLike<number>,
): { readonly median: number; readonly sigma: number } | undefined {
  if (values.length === 0) return undefined;
  const sorted = new Float64Array(values).sort();
  const median = middle(sorted);
  return { median, sigma: MAD_TO_SIGMA * middle(distances(sorted, median)) };
}

/** Distances of sorted values from one of them or between two, sorted: those below and above are so already. */
function distances(sorted: Float64Array, from: number): Float64Array {
  const merged = new Float64Array(sorted.length);
  let below = (sorted.length - 1) >> 1;
  let above = below + 1;
  for (let at = 0; at < merged.length; at += 1) {
    const left = below < 0 ? Number.POSITIVE_INFINITY : from - (sorted[below] ?? 0);
    const right = above >= sorted.length ? Number.POSITIVE_INFINITY : (sorted[above] ?? 0) - from;
    merged[at] = Math.min(left, right);
    if (left <= right) below -= 1;
    else above += 1;
  }
  return merged;
}

/**
 * Judges a signal against its past: low or high beyond two spreads, and high from its absolute band on. Undefined where it
 * has no value now.
 * @param leastPast fewer windows of the past say nothing: then only the absolute band counts
 */
export function read({ normal, now, signal }: Series, leastPast: number): Reading | undefined {
  if (now.length === 0) return undefined;
  const { floor, highFrom = Number.POSITIVE_INFINITY } = signalSpec(signal);
  const value = mean(now);
  const past = normal.length < leastPast ? undefined : pastOf(normal);
  if (past === undefined) return { signal, value, z: 0, bin: value >= highFrom ? "high" : "medium" };
  const spread = Math.max(past.sigma, LEAST_CHANGE * Math.abs(past.median), floor);
  const z = (value - past.median) / spread;
  const bin = value >= highFrom || z > UNUSUAL ? "high" : z < -UNUSUAL ? "low" : "medium";
  return { signal, value, baseline: past.median, spread, z, bin };
}
