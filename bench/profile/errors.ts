import { mean } from "@tradewind/core/values/statistics.ts";

/** To three decimals. */
export const rounded = (value: number): number => Math.round(1e3 * value) / 1e3;

/** What came, ln p95 in seconds, and the interval that it was expected in. */
interface Interval {
  readonly truth: number;
  readonly low: number;
  readonly high: number;
}

/** Mean |ln error|; 0 without rows. */
export const meanError = <Row extends Pick<Interval, "truth">>(
  rows: readonly Row[],
  said: (row: Row) => number,
): number =>
  rounded(
    mean(
      rows.map((row) => Math.abs(row.truth - said(row))),
      0,
    ),
  );

/** Share of the rows whose interval holds what came; 0 without rows. */
export const insideShare = (rows: readonly Interval[]): number =>
  rounded(
    mean(
      rows.map(({ high, low, truth }) => Number(truth >= low && truth <= high)),
      0,
    ),
  );
