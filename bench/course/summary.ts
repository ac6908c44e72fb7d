import { mean } from "@tradewind/core/values/statistics.ts";
import { ACTUATORS } from "@tradewind/simulator/contenders/contender.ts";
import type { Actuators } from "@tradewind/simulator/contenders/contender.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import type { Job } from "./jobs.ts";
import { REFERENCE } from "./report.ts";
import type { Run } from "./report.ts";

/** Most requests over the objective with which a plant's objective is kept: all are p95. */
export const OBJECTIVE_SHARE = 0.05;

/** Targets of the HPAs of which the best of each plant, chosen after the fact, is the rival. */
const TARGET_PERCENTS = [50, 60, 70, 80];

/** Runs of the HPAs on a plant; they move replicas alone, with the window that Kubernetes has. */
export const hpaJobs = ({ actuators, plant, seed }: Pick<Job, "actuators" | "plant" | "seed">): Job[] =>
  TARGET_PERCENTS.map((targetPercent) => ({
    plant,
    policy: HPA_CPU.name,
    actuators,
    parameters: { ...HPA_CPU.defaults, targetPercent },
    seed,
  }));

/** Ours against the cheapest HPA of each plant that keeps the objective. */
export interface Summary {
  /** Geometric mean of our price over the rival's, of the plants where both keep the objective; null: of none. */
  readonly ratio: number | null;
  /** Of those the plants where ours costs more. */
  readonly dearerIn: number;
  /** Plants where an HPA keeps the objective and ours does not. */
  readonly missed: readonly string[];
}

/** By what ours may move; of what it has no runs with there is no summary. */
export interface Summaries {
  readonly replicas?: Summary;
  readonly sizes?: Summary;
}

const KEYS: Readonly<Record<Actuators, keyof Summaries>> = {
  replicas: "replicas",
  "replicas+cpu+memory": "sizes",
};

interface Outcome {
  readonly over: number;
  readonly cost: number;
}

const outcomeOf = (runs: readonly Run[]): Outcome => ({
  over: mean(runs.map(({ result }) => result.requestsOver)),
  cost: mean(runs.map(({ result }) => result.costPerHour)),
});

const isKept = ({ over }: Outcome): boolean => over <= OBJECTIVE_SHARE;

/** Whether a run is that of one of the HPAs. */
function isHpaOfSummary({ parameters, policy }: Run): boolean {
  return (
    policy === HPA_CPU.name &&
    parameters["scaleDownSeconds"] === HPA_CPU.defaults["scaleDownSeconds"] &&
    TARGET_PERCENTS.some((targetPercent) => parameters["targetPercent"] === targetPercent)
  );
}

/** Price of the cheapest HPA that keeps the objective of a plant; undefined where none does. */
function rivalCost(ofPlant: readonly Run[]): number | undefined {
  const settings = Map.groupBy(
    ofPlant.filter(isHpaOfSummary),
    ({ parameters }) => parameters["targetPercent"],
  );
  const costs = [...settings.values()]
    .map(outcomeOf)
    .filter(isKept)
    .map(({ cost }) => cost);
  return costs.length === 0 ? undefined : Math.min(...costs);
}

/** @param runs of HPAs and ours on the same seeds */
export function summariesOf(runs: readonly Run[]): Summaries {
  const plants = [...Map.groupBy(runs, ({ plant }) => plant)];
  const hasRivals = runs.some(isHpaOfSummary);
  return Object.fromEntries(
    ACTUATORS.flatMap((actuators) => {
      const held = plants.flatMap(([plant, ofPlant]) => {
        const own = ofPlant.filter((each) => each.policy === REFERENCE && each.actuators === actuators);
        const rival = rivalCost(ofPlant);
        return own.length === 0 || rival === undefined ? [] : [{ plant, own: outcomeOf(own), rival }];
      });
      const isRun = runs.some((each) => each.policy === REFERENCE && each.actuators === actuators);
      return isRun && hasRivals ? [[KEYS[actuators], summaryOf(held)]] : [];
    }),
  );
}

function summaryOf(
  held: readonly { readonly plant: string; readonly own: Outcome; readonly rival: number }[],
): Summary {
  const both = held.filter(({ own }) => isKept(own));
  return {
    ratio:
      both.length === 0 ? null : Math.exp(mean(both.map(({ own, rival }) => Math.log(own.cost / rival)))),
    dearerIn: both.filter(({ own, rival }) => own.cost > rival).length,
    missed: held.filter(({ own }) => !isKept(own)).map(({ plant }) => plant),
  };
}
