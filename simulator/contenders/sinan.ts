import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { numbersBrain, sloRatio } from "./numbers.ts";
import type { ServiceFacts } from "./numbers.ts";

/** Standard normal distribution function, by Abramowitz and Stegun 7.1.26; error under 1.5e-7. */
function normalCdf(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const poly =
    ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const upper = 0.5 * poly * Math.exp(-x * x);
  return z > 0 ? 1 - upper : upper;
}

/** A service's part of the model's input: grows without bound as its pods fill up. */
export const pressure = (demandCores: number, cores: number): number =>
  -Math.log(1 - Math.min(0.97, demandCores / Math.max(1e-6, cores)));

/**
 * One model for the whole application: log p95 of the next window, linear in the pressure of every service, by recursive least
 * squares. The published one is a convolutional network and boosted trees over the same inputs, trained offline.
 */
export class WholeModel {
  private readonly weights: number[];
  private readonly covariance: number[][];
  private variance = 0.25;

  constructor(inputs: number) {
    // Before it has seen anything every service counts alike: 1/(1-u) spread over them.
    this.weights = Array.from({ length: inputs + 1 }, (_, at) => (at === 0 ? -3 : 1 / inputs));
    this.covariance = this.weights.map((_, row) => this.weights.map((__, at) => (row === at ? 1 : 0)));
  }

  predict(inputs: readonly number[]): number {
    return [1, ...inputs].reduce((sum, x, at) => sum + x * (this.weights[at] ?? 0), 0);
  }

  learn(inputs: readonly number[], logSeconds: number): void {
    const x = [1, ...inputs];
    const error = logSeconds - this.predict(inputs);
    this.variance += 0.1 * (Math.min(1, error ** 2) - this.variance);
    const px = this.covariance.map((row) => row.reduce((sum, each, at) => sum + each * (x[at] ?? 0), 0));
    const gain = 0.1 + px.reduce((sum, each, at) => sum + each * (x[at] ?? 0), 0);
    for (const [row, values] of this.covariance.entries()) {
      this.weights[row] = (this.weights[row] ?? 0) + ((px[row] ?? 0) / gain) * error;
      // Slopes below 0 would say that less CPU makes requests faster.
      if (row > 0) this.weights[row] = Math.max(0.02, this.weights[row]);
      for (const at of values.keys())
        values[at] = (values[at] ?? 0) - ((px[row] ?? 0) * (px[at] ?? 0)) / gain;
    }
  }

  /** Chance that p95 of the next window is over the objective. */
  chanceOfMiss(inputs: readonly number[], logObjective: number): number {
    return normalCdf((this.predict(inputs) - logObjective) / Math.sqrt(this.variance + 0.01));
  }
}

/** Pods of each service after an action, and what it costs. */
export interface Action {
  readonly kind: "hold" | "down" | "up" | "up-all";
  readonly pods: readonly number[];
}

/** Sinan's candidates: hold, one pod less of one service or of all, one more of one, a step more of all. */
export function candidates(facts: readonly Pick<ServiceFacts, "spec">[], pods: readonly number[]): Action[] {
  const change = (at: number, by: number): number[] =>
    pods.map((each, place) => (place === at ? each + by : each));
  const each = pods.flatMap((count, at): Action[] => {
    const { maxReplicas = 1, minReplicas = 1 } = facts[at]?.spec ?? {};
    return [
      ...(count > minReplicas ? [{ kind: "down" as const, pods: change(at, -1) }] : []),
      ...(count < maxReplicas ? [{ kind: "up" as const, pods: change(at, 1) }] : []),
    ];
  });
  const all: Action = { kind: "up-all", pods: pods.map((count) => Math.ceil(count * 1.3)) };
  const fewer = pods.map((count, at) => Math.max(facts[at]?.spec.minReplicas ?? 1, count - 1));
  return [{ kind: "hold", pods }, { kind: "down", pods: fewer }, ...each, all];
}

/**
 * The action with the fewest cores of those that are safe: going down needs a lower chance of a miss than staying. When none is
 * safe everything goes up.
 */
export function choose(
  actions: readonly Action[],
  chance: (action: Action) => number,
  cores: (action: Action) => number,
  { down, hold }: { readonly down: number; readonly hold: number },
): Action | undefined {
  const safe = actions.filter((action) => chance(action) < (action.kind === "down" ? down : hold));
  const [cheapest] = safe.toSorted((a, b) => cores(a) - cores(b));
  return cheapest ?? actions.find(({ kind }) => kind === "up-all");
}

export const SINAN: Contender = {
  name: "sinan-like",
  about:
    "Sinan's scheduler: of hold, one down, one up and all up the cheapest whose chance of a miss is low; one linear model of the " +
    "whole application learnt while it runs in place of its offline network and trees.",
  defaults: { downChance: 0.05, holdChance: 0.2, downWindows: 4 },
  grid: combinations({ downChance: [0.02, 0.1], holdChance: [0.15, 0.35], downWindows: [2, 6] }),
  supports: () => true,
  start: (setting, parameters) => {
    const { services } = setting.world;
    const model = new WholeModel(services.length);
    const objective = Math.log(setting.plant.application.objective.milliseconds / 1e3);
    const chances = { down: numberOf(parameters, "downChance"), hold: numberOf(parameters, "holdChance") };
    const wanted = new Map<string, { replicas: number }>();
    let sinceDown = 0;
    return numbersBrain(setting, (facts, windowSet) => {
      const ratio = sloRatio(setting, windowSet);
      if (ratio === undefined || facts.some(({ usedCores }) => usedCores === undefined)) return wanted;
      const inputs = (pods: readonly number[]): number[] =>
        facts.map(({ podCores, usedCores = 0 }, at) => pressure(usedCores, podCores * (pods[at] ?? 1)));
      model.learn(inputs(facts.map(({ readyPods }) => readyPods)), Math.log(ratio) + objective);
      const now = facts.map(({ replicas, service }) => wanted.get(service)?.replicas ?? replicas);
      sinceDown += 1;
      const mayGoDown = sinceDown >= numberOf(parameters, "downWindows") && ratio < 1;
      const actions = candidates(facts, now).filter(({ kind }) => kind !== "down" || mayGoDown);
      const action = choose(
        actions,
        ({ pods }) => model.chanceOfMiss(inputs(pods), objective),
        ({ pods }) => pods.reduce((sum, count, at) => sum + count * (facts[at]?.podCores ?? 1), 0),
        chances,
      );
      if (action?.kind === "down" || ratio > 1) sinceDown = 0;
      for (const [at, { service, spec }] of facts.entries()) {
        const replicas = Math.min(spec.maxReplicas, action?.pods[at] ?? 1);
        wanted.set(service, { replicas });
      }
      return wanted;
    });
  },
};
