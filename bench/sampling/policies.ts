import { runOurs } from "./ours.ts";
import { adam, doubling, fixed, runRival } from "./rivals.ts";
import type { Rival } from "./rivals.ts";

/** What a policy is run on. */
export interface Run {
  readonly total: Float64Array;
  readonly alarms: readonly boolean[];
  readonly seed: number;
  /** What does not matter of the signal, cores. */
  readonly tolerance: number;
}

/** One policy in one configuration. */
export interface Policy {
  readonly name: string;
  /** The configuration, for the report. */
  readonly settings: Readonly<Record<string, number>>;
  /** Whether it is woken by the guard and so bears its share of the guard's reads. */
  readonly guarded: boolean;
  /** Whether its reads are timed by the ends of windows. */
  readonly aligned: boolean;
  /** When it reads the signal, s. */
  readonly run: (run: Run) => number[];
}

function rival(
  name: string,
  settings: Readonly<Record<string, number>>,
  start: (tolerance: number) => Rival,
): Policy {
  const run = ({ total, tolerance }: Run): number[] => runRival(start(tolerance), total);
  return { name, settings, guarded: false, aligned: false, run };
}

/** Every rival in the configuration that was best on signals of their own: seeds 1001 and 1002, and one half of the recordings. */
export function rivals(): Policy[] {
  const shortest = { longest: 6 };
  const chosen = { gamma: 0.5, weight: 0.9, longest: 6 };
  return [rival("doubling", shortest, doubling(shortest)), rival("AdaM", chosen, adam(chosen))];
}

export function fixedPolicies(): Policy[] {
  return [1, 5, 15, 30].map((seconds) => rival(`fixed ${seconds} s`, { seconds }, fixed(seconds)));
}

export function ours(): Policy {
  return { name: "ours", settings: {}, guarded: true, aligned: true, run: runOurs };
}
