import { median } from "@tradewind/core/values/statistics.ts";
import { boosted as boostedTrees, naive as middle } from "../profile/rivals/rivals.ts";
import type { Row } from "./data.ts";

export const METHODS = ["ours", "graph", "boosted", "naive"] as const;
export type Method = (typeof METHODS)[number];

/** Predicted tails of rows, seconds. */
export type Predictor = (rows: readonly Row[]) => number[];

/** As the decision has it: the call graph and the route's excess, or its factor where it takes less than composed. */
function ours(train: readonly Row[]): Predictor {
  const excess = Math.max(
    0,
    median(train.map(({ composedSeconds, tailSeconds }) => tailSeconds - composedSeconds)),
  );
  const factor = Math.min(
    1,
    median(train.map(({ composedSeconds, tailSeconds }) => tailSeconds / composedSeconds)),
  );
  return (rows) => rows.map(({ composedSeconds }) => factor * composedSeconds + excess);
}

const seen = (rows: readonly Row[]) =>
  rows.map(({ columns, tailSeconds }) => ({ columns, latencySeconds: tailSeconds }));

/** Every method, trained on the same rows: the call graph alone, boosted trees on all columns, and the median. */
export function trainAll(train: readonly Row[]): Record<Method, Predictor> {
  const [trees, constant] = [boostedTrees(seen(train)), middle(seen(train))];
  return {
    ours: ours(train),
    graph: (rows) => rows.map(({ composedSeconds }) => composedSeconds),
    boosted: (rows) => trees(seen(rows)),
    naive: (rows) => constant(seen(rows)),
  };
}
