import {
  BASE_SECONDS,
  CPU_CORES,
  CPU_SECONDS_PER_REQUEST,
  FEATURE_COUNT,
  LOAD_PER_CONTAINER,
} from "@tradewind/predictor/profile/inputs.ts";
import { utilisation } from "@tradewind/predictor/profile/prior.ts";
import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";

/** What a rival is given: the seven features, or also the utilisation and the calm latency that our prior uses. */
export type ColumnSet = "features" | "with-state";

/** Column of the load in the result, and of the utilisation with `with-state`. */
export interface Columns {
  readonly rows: (rows: readonly TrainingRow[]) => number[][];
  readonly load: number;
  readonly utilisation: number | undefined;
}

function allColumns({ input }: TrainingRow): number[] {
  const at = (index: number): number => input[index] ?? Number.NaN;
  return [
    ...input.subarray(0, FEATURE_COUNT),
    utilisation(at(LOAD_PER_CONTAINER), at(CPU_SECONDS_PER_REQUEST), at(CPU_CORES)),
    at(BASE_SECONDS),
  ];
}

/** Columns that vary in training; absent values become the training median. */
export function columnsOf(train: readonly TrainingRow[], set: ColumnSet): Columns {
  const width = set === "features" ? FEATURE_COUNT : FEATURE_COUNT + 2;
  const table = train.map(allColumns);
  const middles = Array.from({ length: width }, (_, c) =>
    median(table.map((row) => row[c] ?? Number.NaN).filter(Number.isFinite)),
  );
  const used = middles.flatMap((middle, c) => {
    const varies = table.some((row) => Number.isFinite(row[c]) && row[c] !== middle);
    return Number.isFinite(middle) && varies ? [c] : [];
  });
  const place = used.indexOf(FEATURE_COUNT);
  return {
    rows: (rows) =>
      rows.map((row) => {
        const all = allColumns(row);
        return used.map((c) => (Number.isFinite(all[c]) ? (all[c] ?? 0) : (middles[c] ?? 0)));
      }),
    load: used.indexOf(LOAD_PER_CONTAINER),
    utilisation: place === -1 ? undefined : place,
  };
}
