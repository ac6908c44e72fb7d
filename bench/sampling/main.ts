/**
 * `sampling`: what the agent's controller and its rivals read, and what a consumer then knows.
 *
 * - Signals: nine synthetic ones and eight recorded ones (second by second; 20 seeds of the other containers), as before;
 *   `noisy`: five shapes with noise of 0.5, 1 and 3 tolerances; `serving`: containers that serve requests, recorded with
 *   `--record 10m --recordings FILE` beside a running `tradewind local`, absent without such a file. White noise, random walk
 *   and the noisy load move by more than the tolerance from one second to the next (`unstructured`).
 * - The node: the signal's container and 13 others with levels, wander, noise and bursts of their own under one cgroup
 *   (a QoS class). The guard reads that cgroup's usage once a second and knows the signal only as a part of the sum. Serving
 *   containers have the guard of the agent: their node's CPU time.
 * - `offWindowsRatio`: share of the predictor's windows of 15 s whose mean, as the predictor works it out from the readings
 *   it has by then (windows.ts), is off by more than the tolerance. `offByEpsRatio`: the same for every second.
 * - `keptRatio` = (reads of the signal + its share of the guard's reads, 1/14 of one a second) / seconds; for policies
 *   without a guard the share is 0. `samplesRatio` leaves the share out.
 * - `burstRecall`, `delayP95S`: see score.ts; pooled over seeds. Null without bursts.
 * - Rivals and the constants of ours were tuned on seeds 1001 and 1002 and one half of the recordings; the synthetic figures come
 *   from other seeds, `half` says which half a recording belongs to.
 */
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { parseDurationSeconds } from "@tradewind/core/values/units.ts";
import type { Benchmark } from "../benchmark.ts";
import { recordContainers } from "./containers.ts";
import { controllerCost } from "./cost.ts";
import { CONTAINERS } from "./node.ts";
import { fixedPolicies, ours, rivals } from "./policies.ts";
import type { Policy } from "./policies.ts";
import { dataFolder, recordedTraces, TUNED_RECORDINGS } from "./recorded.ts";
import {
  counting,
  GUARD_FLOOR,
  noisyScenes,
  scenes,
  servingScenes,
  syntheticScenes,
  TOLERANCE,
} from "./scenes.ts";
import type { Scene } from "./scenes.ts";
import { emptyTally, figures, score } from "./score.ts";
import type { Figures } from "./score.ts";
import type { Trace } from "./trace.ts";
import { shortfall, TARGETS, worst } from "./targets.ts";

const SECONDS = 21_600;
const QUICK_SECONDS = 7_200;

/** A policy and its figures by signal. */
interface SampledPolicy {
  readonly policy: Policy;
  readonly by: ReadonlyMap<string, Figures>;
}

/** Figures of a policy by signal, pooled over the scenes of that signal. */
function measure(policy: Policy, all: readonly Scene[]): Map<string, Figures> {
  const tallies = new Map<string, ReturnType<typeof emptyTally>>();
  for (const { trace, total, alarms, seed, tolerance } of all) {
    const tally = tallies.get(trace.name) ?? emptyTally();
    tallies.set(trace.name, tally);
    const times = policy.run({ total, alarms, seed, tolerance });
    const shared = policy.guarded ? trace.rates.length / CONTAINERS : 0;
    score(tally, trace, total, { times, shared, aligned: policy.aligned }, tolerance);
  }
  return new Map([...tallies].map(([name, tally]) => [name, figures(tally)]));
}

const isStructured = ({ trace }: Scene): boolean => trace.structured;
const isTuned = (name: string): boolean => TUNED_RECORDINGS.has(name) || name.endsWith("tuning half");

interface Groups {
  readonly classic: readonly Scene[];
  readonly noisy: readonly Scene[];
  readonly serving: readonly Scene[];
}

function reported(
  seed: number,
  quick: boolean,
  recorded: readonly Trace[],
  file: string | undefined,
): Groups {
  const seconds = quick ? QUICK_SECONDS : SECONDS;
  const seeds = counting(seed, quick ? 1 : 3);
  const longest = Math.max(...recorded.map(({ rates }) => rates.length));
  const played = scenes(counting(seed, quick ? 2 : 20), longest, () => recorded);
  return {
    classic: [...syntheticScenes(seeds, seconds), ...played],
    noisy: noisyScenes(seeds, seconds),
    serving: file === undefined ? [] : servingScenes(file),
  };
}

function namesOf(all: readonly Scene[]): string[] {
  return [...new Set(all.map(({ trace }) => trace.name))];
}

function rows(measured: readonly SampledPolicy[], names: readonly string[]): unknown[] {
  return names.map((name) => ({
    name,
    half: isTuned(name) ? "tuning" : "test",
    policies: measured.map(({ policy, by }) => ({ name: policy.name, ...by.get(name) })),
  }));
}

function overallOf(measured: readonly SampledPolicy[], names: readonly string[]) {
  return measured.map(({ policy, by }) => {
    const figure = worst(names.flatMap((name) => by.get(name) ?? []));
    const meetsTargets = shortfall(figure) === 0;
    return Object.assign({ name: policy.name, settings: policy.settings, meetsTargets }, figure);
  });
}

export const benchmark: Benchmark = {
  summary:
    "adaptive sampling against fixed intervals, back-off and AdaM: reads kept, error of windows, bursts seen",
  options: { record: { type: "string" }, recordings: { type: "string" } },
  async run({ seed, quick, progress, values }) {
    const file = fileOf(values["recordings"]);
    if (typeof values["record"] === "string") {
      if (file === undefined)
        throw new TradewindError("no-file", "--record needs --recordings FILE to write to");
      await recordContainers(file, parseDurationSeconds(values["record"]));
    }
    const recorded = recordedTraces(dataFolder(), TOLERANCE);
    const policies = [...fixedPolicies(), ...rivals(), ours()];
    const groups = reported(seed, quick, recorded, file);
    const all = [...groups.classic, ...groups.noisy, ...groups.serving];
    progress(`sampling: ${policies.length} policies on ${all.length} scenes`);
    const measured = policies.map((policy) => ({ policy, by: measure(policy, all) }));
    const structured = namesOf(groups.classic.filter(isStructured));
    const unseen = namesOf(all).filter((name) => !isTuned(name));
    const overall = overallOf(measured, structured);
    return {
      tolerance: TOLERANCE,
      targets: TARGETS,
      guard: { readsPerSecond: 1, sharedByContainers: CONTAINERS, floor: GUARD_FLOOR },
      signals: rows(measured, structured),
      unstructured: rows(measured, namesOf(groups.classic.filter((scene) => !isStructured(scene)))),
      noisy: rows(measured, namesOf(groups.noisy)),
      serving: rows(measured, namesOf(groups.serving)),
      servingContainers: groups.serving.length,
      overall,
      windows: overallOf(measured, unseen),
      ours: worstOf(overall, "ours"),
      controller: controllerCost(seed),
    };
  },
};

function fileOf(given: unknown): string | undefined {
  return typeof given === "string" ? given : process.env["TRADEWIND_RECORDINGS"];
}

function worstOf(overall: readonly (Figures & { name: string })[], name: string): Partial<Figures> {
  const found = overall.find((each) => each.name === name);
  if (found === undefined) return {};
  const { keptRatio, offByEpsRatio, burstRecall, delayP95S, offWindowsRatio } = found;
  return { keptRatio, offByEpsRatio, burstRecall, delayP95S, offWindowsRatio };
}
