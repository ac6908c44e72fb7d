import type { Terms } from "../../agent/sampling/learn.ts";
import { cycleOffset, runOurs } from "./ours.ts";
import { adam, aimd, doubling, fixed, runRival } from "./rivals.ts";
import type { Rival } from "./rivals.ts";

/** What a policy is run on. */
export interface Run {
  readonly total: Float64Array;
  readonly alarms: Float64Array;
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
  guarded = false,
): Policy {
  const run = ({ total, alarms, tolerance }: Run): number[] =>
    runRival(start(tolerance), total, guarded ? alarms : undefined);
  return { name, settings, guarded, aligned: false, run };
}

const LONGEST = [3, 4, 5, 6, 8, 15, 30, 60];

/** Every rival in every configuration of its grid; tuned before they are compared. */
export function rivalGrids(): Policy[][] {
  const grid = { doubling: [] as Policy[], doublingGuarded: [] as Policy[] };
  const more = { adam: [] as Policy[], aimd: [] as Policy[], aimdGuarded: [] as Policy[] };
  for (const longest of LONGEST) {
    const settings = { longest };
    grid.doubling.push(rival("doubling", settings, doubling(settings)));
    grid.doublingGuarded.push(rival("doubling + trigger", settings, doubling(settings), true));
    for (const step of [0.25, 0.5, 1, 2]) {
      const added = { step, longest };
      more.aimd.push(rival("AIMD", added, aimd(added)));
      more.aimdGuarded.push(rival("AIMD + trigger", added, aimd(added), true));
    }
    for (const gamma of [0.05, 0.1, 0.2, 0.3, 0.5]) {
      for (const weight of [0.5, 0.9]) {
        const chosen = { gamma, weight, longest };
        more.adam.push(rival("AdaM", chosen, adam(chosen)));
      }
    }
  }
  return [grid.doubling, grid.doublingGuarded, more.adam, more.aimd, more.aimdGuarded];
}

export function fixedPolicies(): Policy[] {
  return [1, 2, 5, 10, 15, 30].map((seconds) => rival(`fixed ${seconds} s`, { seconds }, fixed(seconds)));
}

/** What the rivals of a signal's windows are: without a guard, in several settings. */
export function plainDoublings(): Policy[] {
  return [5, 10, 15, 30].map((longest) =>
    rival(`doubling to ${longest} s`, { longest }, doubling({ longest })),
  );
}

export function ours(name = "ours", terms?: Partial<Terms>): Policy {
  return {
    name,
    settings: { ...terms },
    guarded: true,
    aligned: true,
    run: (run) => runOurs({ ...run, ...(terms === undefined ? {} : { terms }) }),
  };
}

/** Every constant of the controller at other values, and its parts left out. */
export function ablations(): Policy[] {
  const changed: readonly (readonly [string, Partial<Terms>])[] = [
    ["movement never learnt", { trustedPairs: Infinity }],
    ["jumpDeviations 3", { jumpDeviations: 3 }],
    ["jumpDeviations 6", { jumpDeviations: 6 }],
    ["holdDeviations 1.5", { holdDeviations: 1.5 }],
    ["holdDeviations 3", { holdDeviations: 3 }],
    ["holdErrors 0", { holdErrors: 0 }],
    ["pairWeight 0.02", { pairWeight: 0.02 }],
    ["pairWeight 0.1", { pairWeight: 0.1 }],
    ["trustedPairs 3", { trustedPairs: 3 }],
    ["trustedPairs 20", { trustedPairs: 20 }],
    ["no error budget", { budgetGain: 0 }],
    ["budgetGain 4", { budgetGain: 4 }],
  ];
  const unaligned: Policy = { ...ours("readings not timed by windows"), aligned: false };
  return [...changed.map(([name, terms]) => ours(name, terms)), unaligned];
}

/** One reading in the last second of each window, and no other: what the controller amounts to without its adaptive part. */
export function fixedAligned(): Policy {
  return {
    name: "fixed 15 s at window ends",
    settings: { seconds: 15 },
    guarded: false,
    aligned: true,
    run: ({ total, seed }) => {
      const times = [cycleOffset(seed)];
      for (let at = 14 + cycleOffset(seed); at <= total.length - 1; at += 15) times.push(at);
      return times;
    },
  };
}
