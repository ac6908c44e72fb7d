import { mean } from "./statistics.ts";

/** Mean of several runs and the interval that holds it with 95 % confidence. */
export interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** 97.5 % points of Student's t by degrees of freedom, from 1. */
const STUDENT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** Beyond the table, within 0.1 %: the normal quantile with its first correction. */
function studentPoint(degrees: number): number {
  return STUDENT[degrees - 1] ?? 1.96 + 2.37 / degrees;
}

/** By Student's t over the runs of different seeds. One run alone has no interval: its bounds are infinite. */
export function estimate(values: readonly number[]): Estimate {
  const count = values.length;
  const middle = mean(values);
  if (count < 2) return { mean: middle, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  const half = studentPoint(count - 1) * Math.sqrt(squares / (count - 1) / count);
  return { mean: middle, low: middle - half, high: middle + half };
}
