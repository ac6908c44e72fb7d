import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { HoltWinters } from "./holt-winters.ts";
import { numbersBrain, sloRatio } from "./numbers.ts";

/** Pods more or less: the horizontal actions. */
export const ACTIONS = [-1, 0, 1, 2] as const;
export type Action = (typeof ACTIONS)[number];

/** Four levels of use and whether the objective is met: CoScal's coarse state. */
export function stateOf(utilisation: number, sloRatio: number): string {
  const level = Math.min(3, Math.max(0, Math.floor(utilisation * 4)));
  return `${level} ${sloRatio > 1 ? "missed" : "met"}`;
}

/** Quality over use: 1 or less for the objective, over the distance of use from its target, as DRPC states both. */
export function rewardOf(utilisation: number, sloRatio: number, targetUtilisation: number): number {
  const quality = sloRatio <= 1 ? 1 : Math.exp(-((sloRatio - 1) ** 2));
  return quality / (1 + Math.abs(utilisation - targetUtilisation));
}

/** Q-learning over a table. What an action is worth before it was tried is what common sense says of the level of use. */
export class QTable {
  private readonly values = new Map<string, number>();
  private readonly learningRate: number;
  private readonly discount = 0.7;

  constructor(learningRate: number) {
    this.learningRate = learningRate;
  }

  value(state: string, action: Action): number {
    return this.values.get(`${state} ${action}`) ?? 2 - 0.2 * Math.abs(action - usual(state));
  }

  best(state: string): Action {
    return ACTIONS.reduce<Action>(
      (best, action) => (this.value(state, action) > this.value(state, best) ? action : best),
      usual(state),
    );
  }

  choose(state: string, explore: number, rng: Rng): Action {
    if (rng() >= explore) return this.best(state);
    return ACTIONS[Math.floor(rng() * ACTIONS.length)] ?? 0;
  }

  learn(state: string, action: Action, reward: number, next: string): void {
    const before = this.value(state, action);
    const target = reward + this.discount * this.value(next, this.best(next));
    this.values.set(`${state} ${action}`, before + this.learningRate * (target - before));
  }
}

function usual(state: string): Action {
  const isMissed = state.endsWith("missed");
  const level = Number.parseInt(state, 10);
  if (level === 3) return isMissed ? 2 : 1;
  if (level === 2) return isMissed ? 1 : 0;
  return level === 0 && !isMissed ? -1 : 0;
}

interface Step {
  readonly state: string;
  readonly action: Action;
}

export const COSCAL: Contender = {
  name: "coscal-like",
  about:
    "CoScal's Q-learning over four levels of use, one table for all services, learnt while it runs; Holt's method in place of its " +
    "GRU, and no brownout.",
  defaults: { explore: 0.02, learningRate: 0.1, targetUtilisation: 0.6 },
  grid: combinations({ explore: [0, 0.05], learningRate: [0.05, 0.2], targetUtilisation: [0.45, 0.65] }),
  supports: () => true,
  start: (setting, parameters) => {
    const rng = seededRng(setting.seed);
    const table = new QTable(numberOf(parameters, "learningRate"));
    const target = numberOf(parameters, "targetUtilisation");
    const last = new Map<string, Step>();
    const wanted = new Map<string, { replicas: number }>();
    const loads = new Map(
      setting.world.services.map((name) => [name, new HoltWinters(0, { level: 0.5, trend: 0.2, season: 0 })]),
    );
    let windows = 0;
    return numbersBrain(setting, (facts, windowSet) => {
      const ratio = sloRatio(setting, windowSet);
      windows += 1;
      // A step has an effect when its pods are ready: one decision in four windows.
      const decides = windows % 4 === 0;
      for (const { podCores, readyPods, replicas, requestsPerSecond, service, usedCores } of facts) {
        const load = loads.get(service);
        if (requestsPerSecond === undefined || usedCores === undefined || ratio === undefined) continue;
        load?.add(requestsPerSecond);
        if (!decides) continue;
        const expected = requestsPerSecond > 0 ? (load?.forecast(4) ?? 0) / requestsPerSecond : 1;
        const use = (usedCores * Math.max(0.5, Math.min(2, expected))) / (podCores * Math.max(1, readyPods));
        const state = stateOf(use, ratio);
        const before = last.get(service);
        if (before !== undefined)
          table.learn(before.state, before.action, rewardOf(use, ratio, target), state);
        const action = table.choose(state, numberOf(parameters, "explore"), rng);
        last.set(service, { state, action });
        wanted.set(service, { replicas: Math.max(1, (wanted.get(service)?.replicas ?? replicas) + action) });
      }
      return wanted;
    });
  },
};
