import { runOurs } from "./ours.ts";
import { adam, aimd, doubling, fixed, runRival } from "./rivals.ts";
import type { Rival } from "./rivals.ts";

/** What a policy is run on. */
export interface Run {
  readonly total: Float64Array;
  readonly alarms: Float64Array;
  readonly seed: number;
}

/** One policy in one configuration. */
export interface Policy {
  readonly name: string;
  /** The configuration, for the report. */
  readonly settings: Readonly<Record<string, number>>;
  /** Whether it is woken by the guard and so bears its share of the guard's reads. */
  readonly guarded: boolean;
  /** When it reads the signal, s. */
  readonly run: (run: Run) => number[];
}

function rival(
  name: string,
  settings: Readonly<Record<string, number>>,
  start: () => Rival,
  guarded = false,
): Policy {
  const run = ({ total, alarms }: Run): number[] => runRival(start(), total, guarded ? alarms : undefined);
  return { name, settings, guarded, run };
}

const LONGEST = [3, 4, 5, 6, 8, 15, 30, 60];

/** Every rival in every configuration of its grid; tuned before they are compared. */
export function rivalGrids(tolerance: number): Policy[][] {
  const grid = { doubling: [] as Policy[], doublingGuarded: [] as Policy[] };
  const more = { adam: [] as Policy[], aimd: [] as Policy[], aimdGuarded: [] as Policy[] };
  for (const longest of LONGEST) {
    const settings = { longest };
    grid.doubling.push(rival("doubling", settings, doubling(settings, tolerance)));
    grid.doublingGuarded.push(rival("doubling + trigger", settings, doubling(settings, tolerance), true));
    for (const step of [0.25, 0.5, 1, 2]) {
      const added = { step, longest };
      more.aimd.push(rival("AIMD", added, aimd(added, tolerance)));
      more.aimdGuarded.push(rival("AIMD + trigger", added, aimd(added, tolerance), true));
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
  return [1, 2, 5, 15, 30].map((seconds) => rival(`fixed ${seconds} s`, { seconds }, fixed(seconds)));
}

export function ours(tolerance: number): Policy {
  return {
    name: "ours",
    settings: {},
    guarded: true,
    run: ({ total, alarms, seed }) => runOurs({ total, alarms, tolerance, seed }),
  };
}
