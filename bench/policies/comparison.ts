import { mean } from "@tradewind/core/values/statistics.ts";
import { estimate } from "@tradewind/core/values/estimate.ts";
import type { Estimate } from "@tradewind/core/values/estimate.ts";
import type { RunFigures } from "./one-run.ts";

/** One of ours and one of a rival with the same seed and application. */
export interface Pair {
  readonly ours: RunFigures;
  readonly rival: RunFigures;
}

export interface Comparison {
  readonly application: string;
  readonly rival: string;
  readonly pairs: number;
  readonly costRatio: Estimate;
  /** Percent of all requests over the objective, mean over the runs. */
  readonly overPercent: { readonly ours: number; readonly rival: number };
  /** Ours less the rival's, pair by pair. */
  readonly overPercentDifference: Estimate;
  readonly secondsOver: { readonly ours: number; readonly rival: number };
  readonly starts: { readonly ours: number; readonly rival: number };
}

const percentOver = ({ requests, requestsOver }: RunFigures): number =>
  (100 * requestsOver) / Math.max(1, requests);

/** Sums up the pairs of one rival on one application. */
export function compare(pairs: readonly [Pair, ...Pair[]]): Comparison {
  const [{ rival }] = pairs;
  const both = (of: (run: RunFigures) => number): { ours: number; rival: number } => ({
    ours: mean(pairs.map((pair) => of(pair.ours))),
    rival: mean(pairs.map((pair) => of(pair.rival))),
  });
  return {
    application: rival.application,
    rival: rival.policy,
    pairs: pairs.length,
    costRatio: estimate(pairs.map((pair) => pair.ours.costPerHour / pair.rival.costPerHour)),
    overPercent: both(percentOver),
    overPercentDifference: estimate(pairs.map((pair) => percentOver(pair.ours) - percentOver(pair.rival))),
    secondsOver: both(({ secondsOver }) => secondsOver),
    starts: both(({ starts }) => starts),
  };
}

/** The mean; from two pairs on with its interval. */
const inWords = ({ high, low, mean: middle }: Estimate): string =>
  Number.isFinite(low) ? `${middle.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})` : middle.toFixed(2);

/** As a table in Markdown. */
export function tableOf(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map((each) => {
    const { application, costRatio, overPercent, overPercentDifference, pairs, rival, secondsOver } = each;
    const cells = [
      application,
      `\`${rival}\``,
      pairs,
      inWords(costRatio),
      `${overPercent.ours.toFixed(2)} %, ${overPercent.rival.toFixed(2)} %`,
      inWords(overPercentDifference),
      `${secondsOver.ours.toFixed(1)}, ${secondsOver.rival.toFixed(1)}`,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| application | rival | pairs | cost over the rival's | requests over, ours and the rival's | difference, points | seconds over, of 150 |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}
