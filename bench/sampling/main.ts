/**
 * `sampling`: what the agent's controller and its rivals read, and what a consumer then knows.
 *
 * - Signals: nine synthetic ones (24 h at 1 s, three seeds from `--seed`) and eight recorded ones (second by second; 20
 *   seeds of the other containers). White noise, random walk and the noisy load move by more than the tolerance from one second to
 *   the next; they are reported under `unstructured`. A burst adds at least 0.3 cores (6 times the tolerance).
 * - The node: the signal's container and 13 others with levels, wander, noise and bursts of their own under one cgroup
 *   (a QoS class). The guard reads that cgroup's usage once a second and knows the signal only as a part of the sum.
 * - `keptRatio` = (reads of the signal + its share of the guard's reads, 1/14 of one a second) / seconds; for policies
 *   without a guard the share is 0. `samplesRatio` leaves the share out.
 * - `offByEpsRatio`, `burstRecall`, `delayP95S`: see score.ts; pooled over seeds. Null without bursts.
 * - Rivals are tuned by grid on seeds 1001 and 1002 and the recordings, as the constants of ours were; the figures of the
 *   synthetic signals and of the guard's noise come from other seeds, those of the recordings do not come from other recordings.
 *   One configuration serves all signals. `trigger` is our guard, lent to a rival.
 */
import type { Benchmark } from "../benchmark.ts";
import { controllerCost } from "./cost.ts";
import { CONTAINERS, guardAlarms, neighbours } from "./node.ts";
import { fixedPolicies, ours, rivalGrids } from "./policies.ts";
import type { Policy } from "./policies.ts";
import { dataFolder, recordedTraces } from "./recorded.ts";
import { emptyTally, figures, score } from "./score.ts";
import type { Figures } from "./score.ts";
import { syntheticTraces } from "./synthetic.ts";
import { totals } from "./trace.ts";
import type { Trace } from "./trace.ts";
import { bestOf, shortfall, TARGETS, worst } from "./tune.ts";

const TOLERANCE = 0.05;
const GUARD_FLOOR = 2 * TOLERANCE;
const TUNING_SEEDS = [1001, 1002];

interface Scene {
  readonly trace: Trace;
  readonly total: Float64Array;
  readonly alarms: Float64Array;
  readonly seed: number;
}

function scene(trace: Trace, others: Float64Array, seed: number): Scene {
  const total = totals(trace.rates);
  return { trace, total, alarms: guardAlarms(total, others, GUARD_FLOOR), seed };
}

function scenes(seeds: readonly number[], seconds: number, traces: (seed: number) => Trace[]): Scene[] {
  return seeds.flatMap((seed) => {
    const others = neighbours(seed, seconds);
    return traces(seed).map((trace) => scene(trace, others, seed));
  });
}

/** Figures of a policy by signal, pooled over the scenes of that signal. */
function measure(policy: Policy, all: readonly Scene[]): Map<string, Figures> {
  const tallies = new Map<string, ReturnType<typeof emptyTally>>();
  for (const { trace, total, alarms, seed } of all) {
    const tally = tallies.get(trace.name) ?? emptyTally();
    tallies.set(trace.name, tally);
    const times = policy.run({ total, alarms, seed });
    const shared = policy.guarded ? trace.rates.length / CONTAINERS : 0;
    score(tally, trace, total, { times, shared }, TOLERANCE);
  }
  return new Map([...tallies].map(([name, tally]) => [name, figures(tally)]));
}

const structuredOnly = (all: readonly Scene[]): Scene[] => all.filter(({ trace }) => trace.structured);

function tuned(
  grids: readonly Policy[][],
  all: readonly Scene[],
  progress: (text: string) => void,
): Policy[] {
  return grids.map((grid) => {
    progress(
      `sampling: tuning ${grid[0]?.name ?? ""}, ${grid.length} configurations on ${all.length} scenes`,
    );
    return bestOf(grid.map((policy) => ({ policy, worst: worst([...measure(policy, all).values()]) })));
  });
}

function counting(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}

function reportScenes(seed: number, quick: boolean, recorded: readonly Trace[]): Scene[] {
  const seconds = quick ? 7200 : 86_400;
  const longest = Math.max(...recorded.map(({ rates }) => rates.length));
  const synthetic = scenes(counting(seed, quick ? 1 : 3), seconds, (each) => syntheticTraces(each, seconds));
  return [...synthetic, ...scenes(counting(seed, quick ? 2 : 20), longest, () => [...recorded])];
}

function tuningScenes(quick: boolean, recorded: readonly Trace[]): Scene[] {
  const seconds = quick ? 7200 : 86_400;
  return structuredOnly(
    scenes(TUNING_SEEDS, seconds, (seed) => [...syntheticTraces(seed, seconds), ...recorded]),
  );
}

export const benchmark: Benchmark = {
  summary:
    "adaptive sampling against fixed intervals, back-off, AIMD and AdaM: reads kept, error, bursts seen",
  async run({ seed, quick, progress }) {
    const recorded = recordedTraces(dataFolder(), TOLERANCE);
    const rivals = tuned(rivalGrids(TOLERANCE), tuningScenes(quick, recorded), progress);
    const policies = [...fixedPolicies(), ...rivals, ours(TOLERANCE)];
    const all = reportScenes(seed, quick, recorded);
    progress(`sampling: ${policies.length} policies on ${all.length} scenes`);
    const measured = policies.map((policy) => ({ policy, by: measure(policy, all) }));
    const named = (structured: boolean): string[] => [
      ...new Set(all.filter(({ trace }) => trace.structured === structured).map(({ trace }) => trace.name)),
    ];
    const rows = (names: readonly string[]): unknown[] =>
      names.map((name) => ({
        name,
        policies: measured.map(({ policy, by }) => ({ name: policy.name, ...by.get(name) })),
      }));
    const overall = measured.map(({ policy, by }) => {
      const figure = worst(named(true).flatMap((name) => by.get(name) ?? []));
      const meetsTargets = shortfall(figure) === 0;
      return Object.assign({ name: policy.name, settings: policy.settings, meetsTargets }, figure);
    });
    return {
      tolerance: TOLERANCE,
      targets: TARGETS,
      guard: { readsPerSecond: 1, sharedByContainers: CONTAINERS, floor: GUARD_FLOOR },
      signals: rows(named(true)),
      unstructured: rows(named(false)),
      overall,
      ours: worstOf(overall, "ours"),
      controller: controllerCost(seed),
    };
  },
};

function worstOf(overall: readonly (Figures & { name: string })[], name: string): Partial<Figures> {
  const found = overall.find((each) => each.name === name);
  if (found === undefined) return {};
  const { keptRatio, offByEpsRatio, burstRecall, delayP95S } = found;
  return { keptRatio, offByEpsRatio, burstRecall, delayP95S };
}
