import type { BacktestReport } from "../backtest.ts";
import type { RouteValidation } from "../validate.ts";

export const percent = (ratio: number, digits = 1): string =>
  Number.isFinite(ratio) ? `${(100 * ratio).toFixed(digits)} %` : "–";
export const milliseconds = (seconds: number): string =>
  `${(1e3 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
export const money = (sum: number): string => sum.toFixed(sum < 1 ? 4 : 2);
const amount = (value: number): string => (value < 10 ? value.toPrecision(3) : value.toFixed(1));
export const time = (atMs: number): string => new Date(atMs).toISOString().slice(0, 16).replace("T", " ");

/** One row of the table of policies. */
export interface PolicyRow {
  readonly policy: string;
  /** `measured` or `simulated`. */
  readonly source: string;
  readonly requestsOver: string;
  readonly minutesOver: string;
  readonly coreHours: string;
  readonly gigabyteHours: string;
  readonly cost: string;
  readonly starts: string;
  readonly stops: string;
}

export const POLICY_COLUMNS: Readonly<Record<keyof PolicyRow, string>> = {
  policy: "policy",
  source: "source",
  requestsOver: "requests over",
  minutesOver: "minutes over",
  coreHours: "core-hours",
  gigabyteHours: "GB-hours",
  cost: "cost",
  starts: "starts",
  stops: "stops",
};

/** What ran, and what each policy would have done, with the sums over the replayed time. */
export function policyRows({ policies, recorded, replayFromMs, replayToMs }: BacktestReport): PolicyRow[] {
  const hours = (replayToMs - replayFromMs) / 3_600_000;
  const row = (
    policy: string,
    source: string,
    each: {
      requestsOver: number;
      cores: number;
      gigabytes: number;
      costPerHour: number;
      starts: number;
      stops: number;
    },
    minutesOver: number,
  ): PolicyRow => ({
    policy,
    source,
    requestsOver: percent(each.requestsOver, 2),
    minutesOver: percent(minutesOver),
    coreHours: amount(each.cores * hours),
    gigabyteHours: amount(each.gigabytes * hours),
    cost: money(each.costPerHour * hours),
    starts: String(each.starts),
    stops: String(each.stops),
  });
  return [
    row("as it ran", "measured", recorded, recorded.intervalsOver),
    ...policies.map(({ policy, result }) => row(policy, "simulated", result, result.minutesOver)),
  ];
}

/** One sentence on how far the models can be believed on a route. */
export function trustOf({ all, bias, constant, knee, persistence }: RouteValidation): string {
  const best = Math.min(constant.meanRatio, persistence.meanRatio);
  const verdict =
    all.meanRatio <= best
      ? "better than both baselines"
      : `worse than ${constant.meanRatio <= persistence.meanRatio ? "a constant" : "the interval before"} (${percent(best)})`;
  const direction = bias >= 0 ? "slow" : "fast";
  const atKnee = knee.intervals === 0 ? "never at the knee" : `at the knee ${percent(knee.meanRatio)}`;
  return `off by ${percent(all.meanRatio)} in the mean (${atKnee}), ${percent(Math.abs(bias))} too ${direction} in the median; ${verdict}`;
}

/** What a reader must know before believing a replayed figure. */
export const LIMITS: readonly string[] = [
  "Replayed figures are simulated: they are as good as the models, whose errors are above.",
  "Queues do not outlive an interval, requests do not fail, and callers do not try again.",
  "Load and routes are those that were recorded: users who left because it was slow stay away, and those who would have come do not.",
  "Sizes and loads far from anything recorded are extrapolated.",
];
