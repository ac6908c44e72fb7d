import type { FlowWindow } from "@tradewind/core/contract/window.ts";
import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { numbersBrain } from "./numbers.ts";
import { PieceWise } from "./piece-wise.ts";

/** Latency of a service, seconds: `a · load per pod + b`; `weight` is `a` times the load of the whole service. */
export interface Linear {
  readonly weight: number;
  readonly b: number;
}

/** One after the other: the roots of the weights add, and so do the constants. */
export function inSequence(models: readonly Linear[]): Linear {
  const root = models.reduce((sum, { weight }) => sum + Math.sqrt(weight), 0);
  return { weight: root ** 2, b: models.reduce((sum, { b }) => sum + b, 0) };
}

/** Side by side: the weights add, the largest constant counts. */
export function inParallel(models: readonly Linear[]): Linear {
  return {
    weight: models.reduce((sum, { weight }) => sum + weight, 0),
    b: Math.max(0, ...models.map(({ b }) => b)),
  };
}

/** The target of a part of a whole that has `target`: its constant, and what is left over by the root of its weight. */
export function targetOf(part: Linear, whole: Linear, target: number): number {
  const share = whole.weight > 0 ? Math.sqrt(part.weight / whole.weight) : 0;
  return part.b + share * (target - whole.b);
}

/** Latency targets of all services of a route, from its call graph, by Erms' merging of what calls in a row and side by side. */
export function latencyTargets(
  { calls = [], entryService }: Pick<FlowWindow, "calls" | "entryService">,
  models: ReadonlyMap<string, Linear>,
  objectiveSeconds: number,
): Map<string, number> {
  const targets = new Map<string, number>();
  const own = (name: string): Linear => models.get(name) ?? { weight: 0, b: 0 };
  const calleesOf = (name: string, seen: readonly string[]) =>
    calls.filter(({ callee, caller }) => caller === name && !seen.includes(callee));
  const partsOf = (
    name: string,
    seen: readonly string[],
  ): { readonly model: Linear; readonly names: string[] }[] => {
    const callees = calleesOf(name, seen);
    const beside = callees.filter(({ parallelRatio }) => parallelRatio > 0.5);
    const after = callees.filter(({ parallelRatio }) => parallelRatio <= 0.5);
    const groups = [...(beside.length > 0 ? [beside] : []), ...after.map((each) => [each])];
    return groups.map((group) => ({
      model: inParallel(group.map(({ callee }) => merged(callee, [...seen, name]))),
      names: group.map(({ callee }) => callee),
    }));
  };
  const merged = (name: string, seen: readonly string[]): Linear =>
    inSequence([own(name), ...partsOf(name, seen).map(({ model }) => model)]);
  const assign = (name: string, target: number, seen: readonly string[]): void => {
    const whole = merged(name, seen);
    const mine = targetOf(own(name), whole, target);
    targets.set(name, Math.min(targets.get(name) ?? Infinity, mine));
    for (const { model, names } of partsOf(name, seen)) {
      for (const callee of names) assign(callee, targetOf(model, whole, target), [...seen, name]);
    }
  };
  assign(entryService, objectiveSeconds, []);
  return targets;
}

export const ERMS: Contender = {
  name: "erms-like",
  about:
    "Erms' latency targets by the roots of slope times load over the call graph, and pods for them; its piece-wise linear " +
    "profiles are fitted while it runs instead of offline, without interference and priorities of shared services.",
  defaults: { objectiveShare: 0.85, mostUtilisation: 0.8 },
  grid: combinations({ objectiveShare: [0.6, 0.8, 1, 1.25], mostUtilisation: [0.65, 0.85] }),
  start: (setting, parameters) => {
    const { objective } = setting.plant.application;
    const seconds = (numberOf(parameters, "objectiveShare") * objective.milliseconds) / 1e3;
    const most = numberOf(parameters, "mostUtilisation");
    const profiles = new Map(setting.world.services.map((name) => [name, new PieceWise()]));
    return numbersBrain(setting, (facts, { flows }) => {
      const models = new Map<string, Linear>();
      for (const fact of facts) {
        const profile = profiles.get(fact.service);
        profile?.add(fact);
        const line = profile?.line();
        if (line && fact.requestsPerSecond !== undefined)
          models.set(fact.service, { weight: line.a * fact.requestsPerSecond, b: line.b });
      }
      const wanted = new Map<string, { replicas: number }>();
      for (const flow of flows) {
        for (const [service, target] of latencyTargets(flow, models, seconds)) {
          const { b = 0, weight = 0 } = models.get(service) ?? {};
          const { podCores = 1, usedCores = 0 } = facts.find((each) => each.service === service) ?? {};
          const least = usedCores / (podCores * most);
          // A target under what the service takes unloaded cannot be met: the most that utilisation allows has to do.
          const pods = target > b ? weight / (target - b) : 2 * least;
          const replicas = Math.ceil(Math.max(least, pods) - 1e-9);
          wanted.set(service, { replicas: Math.max(replicas, wanted.get(service)?.replicas ?? 1) });
        }
      }
      return wanted;
    });
  },
};
