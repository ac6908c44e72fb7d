import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { flowObjective } from "@tradewind/predictor/decide/facts/objective.ts";
import type { FlowObjective } from "@tradewind/predictor/decide/facts/objective.ts";
import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { numbersBrain } from "./numbers.ts";

/** w1, w2, w3: latency, violation of the mean, violation of the tail. */
type Weights = readonly [number, number, number];

/**
 * The published virtual queue, seconds: `q̂_n = w1·l_n + w2·Σ c_f + w3·Σ g_f` over the flows f through n, with l the mean latency
 * of the service itself, c and g how far the flow's mean and tail are over their objectives.
 */
export function virtualQueues(
  { flows, windows }: WindowSet,
  objective: FlowObjective,
  [w1, w2, w3]: Weights,
): ReadonlyMap<string, number> {
  return new Map(
    windows.map(({ ownLatency, service }) => {
      const through = flows.filter(({ services }) => services.includes(service));
      const sumOf = (excess: (flow: (typeof flows)[number]) => number): number =>
        through.reduce((sum, flow) => sum + Math.max(0, excess(flow)), 0);
      const c = sumOf(({ latency }) => latency.meanSeconds - objective.meanSeconds);
      const g = sumOf(({ latency }) => latency.p95Seconds - objective.tailSeconds);
      return [service, w1 * (ownLatency?.meanSeconds ?? 0) + w2 * c + w3 * g];
    }),
  );
}

/**
 * Algorithm 1, line 5: `x_n = ⌊q̂_n/Σq̂ · X⌋`, the pods left over by chance in proportion to the queues. One pod of each service
 * is not shared out, as in the published code.
 */
export function sharePods(
  queues: ReadonlyMap<string, number>,
  budget: number,
  rng: Rng,
): Map<string, number> {
  const names = [...queues.keys()];
  const total = [...queues.values()].reduce((sum, queue) => sum + queue, 0);
  const shareOf = (name: string): number =>
    total > 0 ? (queues.get(name) ?? 0) / total : 1 / Math.max(1, names.length);
  const shared = Math.max(0, budget - names.length);
  const pods = new Map(names.map((name) => [name, 1 + Math.floor(shareOf(name) * shared)]));
  let left = shared - [...pods.values()].reduce((sum, count) => sum + count - 1, 0);
  for (; left > 0; left -= 1) {
    let ticket = rng();
    const winner = names.find((name) => (ticket -= shareOf(name)) < 0) ?? names.at(-1) ?? "";
    pods.set(winner, (pods.get(winner) ?? 0) + 1);
  }
  return pods;
}

const WEIGHTS: Readonly<Record<string, Weights>> = { published: [0.5, 0.3, 0.2], latency: [1, 0, 0] };

/** The published QueueFlower at a fixed number of pods, shared out anew once in 90 s as in its code. */
export const QUEUEFLOWER: Contender = {
  name: "queueflower",
  about:
    "QueueFlower's own equation at a fixed budget of pods, which its paper has as given: a multiple of the pods at the start.",
  defaults: { budgetMultiple: 2, weights: "published" },
  grid: combinations({ budgetMultiple: [1.25, 1.6, 2, 3], weights: ["published", "latency"] }),
  start: (setting, parameters) => {
    const { plant, seed, world } = setting;
    const rng = seededRng(seed);
    const objective = flowObjective(plant.application.objective);
    const weights = WEIGHTS[String(parameters["weights"])] ?? [0.5, 0.3, 0.2];
    const atStart = world.services.reduce((sum, service) => sum + world.replicas(service), 0);
    const budget = Math.round(atStart * numberOf(parameters, "budgetMultiple"));
    let nextMs = 0;
    return numbersBrain(setting, (_facts, windowSet, nowMs) => {
      if (nowMs < nextMs || windowSet.flows.length === 0) return new Map();
      nextMs = nowMs + 90_000;
      const pods = sharePods(virtualQueues(windowSet, objective, weights), budget, rng);
      return new Map([...pods].map(([service, replicas]) => [service, { replicas }]));
    });
  },
};
