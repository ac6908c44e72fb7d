import { mean } from "@tradewind/core/values/statistics.ts";
import type { Run } from "./report.ts";

/** Means over the seeds of one policy with one setting on one plant. */
interface Point {
  readonly policy: string;
  /** Requests over the objective, ratio. */
  readonly over: number;
  /** Price per hour. */
  readonly cost: number;
}

export interface EqualMisses {
  readonly plant: string;
  readonly requestsOver: number;
  readonly costPerHour: number;
  /** Least price at which a rival, tuned with hindsight on this very plant, has no more requests over than ours. */
  readonly rivalCostPerHour: number;
  /** The rival whose setting that is; of a mixture of two the one with fewer requests over. */
  readonly rival: string;
  /** False where no setting of any rival has as few requests over: the price is then that of the one that has fewest. */
  readonly isReached: boolean;
  /** Our price over the rival's. */
  readonly costRatio: number;
}

function pointsOf(runs: readonly Run[]): Point[] {
  const groups = Map.groupBy(runs, ({ parameters, policy }) => `${policy}\n${JSON.stringify(parameters)}`);
  return [...groups.values()].map((same) => ({
    policy: same[0]?.policy ?? "",
    over: mean(same.map(({ result }) => result.requestsOver)),
    cost: mean(same.map(({ result }) => result.costPerHour)),
  }));
}

/** Price at which two settings, each for a part of the time, have `over` requests over the objective between them. */
function mixedCost(few: Point, many: Point, over: number): number {
  const share = (over - few.over) / (many.over - few.over);
  return few.cost + share * (many.cost - few.cost);
}

/**
 * What the cheapest of several settings, or of two of them in turns, costs at no more than `over` requests over the objective.
 * That is the lower convex hull of the points: no rival is charged for having too few settings to meet ours exactly.
 */
export function cheapestAt(
  points: readonly Point[],
  over: number,
): { readonly cost: number; readonly policy: string; readonly isReached: boolean } | undefined {
  const [fewest] = points.toSorted((a, b) => a.over - b.over || a.cost - b.cost);
  if (fewest === undefined) return undefined;
  const within = points.filter((point) => point.over <= over);
  if (within.length === 0) return { cost: fewest.cost, policy: fewest.policy, isReached: false };
  const beyond = points.filter((point) => point.over > over);
  const mixed = within.flatMap((few) =>
    beyond.map((many) => ({ cost: mixedCost(few, many, over), policy: few.policy })),
  );
  const [cheapest] = [...within, ...mixed].toSorted((a, b) => a.cost - b.cost);
  return cheapest && { cost: cheapest.cost, policy: cheapest.policy, isReached: true };
}

/**
 * Ours beside the cheapest setting of any rival at as many requests over the objective, plant by plant.
 * @param runs every candidate of every rival, and ours, on the same seeds
 * @param ours name of our policy
 */
export function equalMisses(runs: readonly Run[], ours: string, rivals: ReadonlySet<string>): EqualMisses[] {
  return [...Map.groupBy(runs, ({ plant }) => plant)].flatMap(([plant, ofPlant]) => {
    const [own] = pointsOf(ofPlant.filter(({ policy }) => policy === ours));
    const rival = own && cheapestAt(pointsOf(ofPlant.filter(({ policy }) => rivals.has(policy))), own.over);
    if (own === undefined || rival === undefined) return [];
    return [
      {
        plant,
        requestsOver: own.over,
        costPerHour: own.cost,
        rivalCostPerHour: rival.cost,
        rival: rival.policy,
        isReached: rival.isReached,
        costRatio: own.cost / rival.cost,
      },
    ];
  });
}
