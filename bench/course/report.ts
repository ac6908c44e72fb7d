import type { RunResult } from "@tradewind/simulator/contenders/run.ts";
import type { Actuators, Parameters } from "@tradewind/simulator/contenders/contender.ts";
import type { RunDetails } from "./details.ts";
import { estimate } from "@tradewind/core/values/estimate.ts";
import { isOnFront } from "../statistics.ts";
import type { Estimate } from "@tradewind/core/values/estimate.ts";

/** One run of one policy on one plant with one seed. */
export interface Run {
  readonly plant: string;
  readonly policy: string;
  readonly actuators: Actuators;
  readonly parameters: Parameters;
  readonly seed: number;
  readonly result: RunResult;
  /** Only where the job asks for them. */
  readonly details?: RunDetails;
  /** Time of one CPU of this machine that it took. */
  readonly cpuSeconds: number;
}

/** Figures of a run that are reported as mean and interval. */
const FIGURES = [
  "requestsOver",
  "minutesOver",
  "costPerHour",
  "cores",
  "gigabytes",
  "starts",
  "stops",
  "failed",
  "oomKills",
] as const satisfies readonly (keyof RunResult)[];
type Figure = (typeof FIGURES)[number];

export interface PolicyReport extends Readonly<Record<Figure, Estimate>> {
  readonly name: string;
  readonly parameters: Parameters;
  readonly seeds: number;
  /** Nobody else's mean is at least as good in requests over and in cost, and better in one. */
  readonly isOnFront: boolean;
  /** Share of windows by the policy level that decided; Tradewind's only. */
  readonly levels?: Readonly<Record<string, number>>;
  /** The same figures less those of the reference, seed by seed. */
  readonly differenceTo?: {
    readonly policy: string;
    readonly requestsOver: Estimate;
    readonly costPerHour: Estimate;
  };
}

export interface PlantReport {
  readonly name: string;
  readonly policies: readonly PolicyReport[];
}

/** What the other policies are compared with, seed by seed. */
export const REFERENCE = "tradewind-auto";
/** Knows what no policy can know, so it takes no part in the front. */
const BOUNDS = new Set(["clairvoyant"]);

function meanLevels(runs: readonly Run[]): PolicyReport["levels"] {
  const sums = new Map<string, number>();
  for (const { result } of runs) {
    for (const [level, share] of Object.entries(result.levels ?? {})) {
      sums.set(level, (sums.get(level) ?? 0) + share / runs.length);
    }
  }
  return sums.size === 0 ? undefined : Object.fromEntries(sums);
}

function differences(runs: readonly Run[], reference: readonly Run[]): PolicyReport["differenceTo"] {
  const pairs = runs.flatMap(({ result, seed }) => {
    const other = reference.find((each) => each.seed === seed)?.result;
    return other === undefined ? [] : [{ result, other }];
  });
  if (pairs.length === 0) return undefined;
  const of = (figure: "requestsOver" | "costPerHour"): Estimate =>
    estimate(pairs.map(({ other, result }) => result[figure] - other[figure]));
  return { policy: REFERENCE, requestsOver: of("requestsOver"), costPerHour: of("costPerHour") };
}

const grouped = (runs: readonly Run[], key: "plant" | "policy"): [string, Run[]][] => [
  ...Map.groupBy(runs, (run) => run[key]),
];

function policyReport(name: string, runs: readonly Run[], all: readonly Run[]): PolicyReport {
  const figures = Object.fromEntries(
    FIGURES.map((figure) => [figure, estimate(runs.map(({ result }) => result[figure]))]),
  ) as Record<Figure, Estimate>;
  const points = grouped(all, "policy")
    .filter(([other]) => other !== name && !BOUNDS.has(other))
    .map(([, each]) => ({
      over: estimate(each.map(({ result }) => result.requestsOver)).mean,
      cost: estimate(each.map(({ result }) => result.costPerHour)).mean,
    }));
  const levels = meanLevels(runs);
  const differenceTo =
    name === REFERENCE
      ? undefined
      : differences(
          runs,
          all.filter(({ policy }) => policy === REFERENCE),
        );
  return {
    name,
    parameters: runs[0]?.parameters ?? {},
    seeds: runs.length,
    ...figures,
    isOnFront:
      !BOUNDS.has(name) &&
      isOnFront({ over: figures.requestsOver.mean, cost: figures.costPerHour.mean }, points),
    ...(levels && { levels }),
    ...(differenceTo && { differenceTo }),
  };
}

/** Sums up runs by plant and policy, in the order in which they first come. */
export function reportOf(runs: readonly Run[]): readonly PlantReport[] {
  return grouped(runs, "plant").map(([name, ofPlant]) => ({
    name,
    policies: grouped(ofPlant, "policy").map(([policy, each]) => policyReport(policy, each, ofPlant)),
  }));
}
