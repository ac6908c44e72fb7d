import type { Contender } from "./contender.ts";
import { combinations, numberOf } from "./contender.ts";
import { numbersBrain } from "./numbers.ts";

/** Load of a service: requests per second, and seconds that one of its pods works on each. */
export interface StationLoad {
  readonly perSecond: number;
  readonly workSeconds: number;
}

/** Mean number of requests at an M/M/c station (Erlang C); Infinity once the load fills the servers. */
export function meanRequests({ perSecond, workSeconds }: StationLoad, servers: number): number {
  const load = perSecond * workSeconds;
  if (load >= servers) return Infinity;
  let blocked = 1;
  for (let server = 1; server <= servers; server += 1) blocked = (load * blocked) / (server + load * blocked);
  const waiting = blocked / (1 - (load / servers) * (1 - blocked));
  return load + (waiting * load) / (servers - load);
}

/**
 * A budget of pods over the stations of a Jackson network: one each, then each to the fullest station while one cannot carry its
 * load, then each where the mean number of requests falls most.
 */
export function balancedPods(loads: ReadonlyMap<string, StationLoad>, budget: number): Map<string, number> {
  const pods = new Map([...loads.keys()].map((service) => [service, 1]));
  const gainOf = (service: string): readonly [isUnstable: number, gain: number] => {
    const load = loads.get(service) as StationLoad;
    const servers = pods.get(service) ?? 1;
    const now = meanRequests(load, servers);
    return now === Infinity
      ? [1, (load.perSecond * load.workSeconds) / servers]
      : [0, now - meanRequests(load, servers + 1)];
  };
  for (let left = budget - pods.size; left > 0; left -= 1) {
    const [first] = [...pods.keys()]
      .map((service) => ({ service, gain: gainOf(service) }))
      .sort(({ gain: [unstableA, a] }, { gain: [unstableB, b] }) => unstableB - unstableA || b - a);
    if (first === undefined) break;
    pods.set(first.service, (pods.get(first.service) ?? 1) + 1);
  }
  return pods;
}

/** As often as QueueFlower shares out its pods. */
const EVERY_MS = 90_000;

/** QueueFlower's rival of a fixed number of pods. */
export const HAB: Contender = {
  name: "hab-like",
  about:
    "HAB's balanced Jackson network: each pod of a fixed budget goes where the mean number of requests falls most; arrivals and " +
    "work of a request are measured.",
  defaults: { budgetMultiple: 1 },
  grid: combinations({ budgetMultiple: [1, 1.25, 1.6, 2] }),
  start: (setting, parameters) => {
    const { world } = setting;
    const atStart = world.services.reduce((sum, service) => sum + world.replicas(service), 0);
    const budget = Math.round(atStart * numberOf(parameters, "budgetMultiple"));
    let nextMs = 0;
    return numbersBrain(setting, (facts, _windowSet, nowMs) => {
      const loads = new Map(
        facts.flatMap(({ cpuSecondsPerRequest, podCores, requestsPerSecond, service }) =>
          cpuSecondsPerRequest === undefined || requestsPerSecond === undefined
            ? []
            : [[service, { perSecond: requestsPerSecond, workSeconds: cpuSecondsPerRequest / podCores }]],
        ),
      );
      if (nowMs < nextMs || loads.size < facts.length) return new Map();
      nextMs = nowMs + EVERY_MS;
      return new Map([...balancedPods(loads, budget)].map(([service, replicas]) => [service, { replicas }]));
    });
  },
};
