import type { Policy } from "./policies.ts";
import type { Figures } from "./score.ts";

/** What the sampling must show on every signal with structure. */
export const TARGETS = { burstRecall: 0.99, delayP95S: 3, offByEpsRatio: 0.05 };

/** The worst figures over several signals, and the mean of the reads kept. */
export interface Worst extends Figures {
  meanKeptRatio: number;
}

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

export function worst(all: readonly Figures[]): Worst {
  const recall = largest(all.map((each) => (each.burstRecall === null ? null : -each.burstRecall)));
  return {
    keptRatio: Math.max(...all.map((each) => each.keptRatio)),
    meanKeptRatio: all.reduce((sum, each) => sum + each.keptRatio, 0) / all.length,
    samplesRatio: Math.max(...all.map((each) => each.samplesRatio)),
    offByEpsRatio: Math.max(...all.map((each) => each.offByEpsRatio)),
    burstRecall: recall === null ? null : -recall,
    delayP95S: largest(all.map((each) => each.delayP95S)),
  };
}

/** How far a policy's worst figures are from the targets, in parts of each target; 0 when all are met. */
export function shortfall(figures: Figures): number {
  const recall = Math.max(0, 1 - (figures.burstRecall ?? 1) / TARGETS.burstRecall);
  const delay = Math.max(0, (figures.delayP95S ?? 0) / TARGETS.delayP95S - 1);
  const off = Math.max(0, figures.offByEpsRatio / TARGETS.offByEpsRatio - 1);
  return recall + delay + off;
}

/** The configuration nearest to the targets; among equals the one that keeps the fewest reads. */
export function bestOf(candidates: readonly { policy: Policy; worst: Worst }[]): Policy {
  const [best] = candidates.toSorted(
    (a, b) => shortfall(a.worst) - shortfall(b.worst) || a.worst.meanKeptRatio - b.worst.meanKeptRatio,
  );
  if (best === undefined) throw new RangeError("no configuration to choose from");
  return best.policy;
}
