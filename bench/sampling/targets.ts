import { mean } from "@tradewind/core/values/statistics.ts";
import type { Figures } from "./score.ts";

/**
 * What the sampling must show on every signal with structure: nearly every window within the tolerance, and bursts seen within
 * the window they fall into.
 */
export const TARGETS = { offWindowsRatio: 0.05, burstRecall: 0.99, delayP95S: 15 };

/** The worst figures over several signals, and the means of the reads kept and of the windows off. */
interface Worst extends Figures {
  meanKeptRatio: number;
  meanSamplesRatio: number;
  meanOffWindowsRatio: number;
}

function largest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

export function worst(all: readonly Figures[]): Worst {
  const recall = largest(all.map((each) => (each.burstRecall === null ? null : -each.burstRecall)));
  return {
    keptRatio: Math.max(...all.map((each) => each.keptRatio)),
    meanKeptRatio: mean(all.map((each) => each.keptRatio)),
    meanSamplesRatio: mean(all.map((each) => each.samplesRatio)),
    meanOffWindowsRatio: mean(all.map((each) => each.offWindowsRatio)),
    samplesRatio: Math.max(...all.map((each) => each.samplesRatio)),
    offByEpsRatio: Math.max(...all.map((each) => each.offByEpsRatio)),
    offWindowsRatio: Math.max(...all.map((each) => each.offWindowsRatio)),
    burstRecall: recall === null ? null : -recall,
    delayP95S: largest(all.map((each) => each.delayP95S)),
  };
}

/** How far a policy's worst figures are from the targets, in parts of each target; 0 when all are met. */
export function shortfall(figures: Figures): number {
  const recall = Math.max(0, 1 - (figures.burstRecall ?? 1) / TARGETS.burstRecall);
  const delay = Math.max(0, (figures.delayP95S ?? 0) / TARGETS.delayP95S - 1);
  const off = Math.max(0, figures.offWindowsRatio / TARGETS.offWindowsRatio - 1);
  return recall + delay + off;
}
