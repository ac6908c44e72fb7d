import type { Benchmark } from "../benchmark.ts";
import { sweepPath } from "../profile/recordings.ts";
import { SPLITS, splitOf } from "./data.ts";
import type { FlowData, Row, Split } from "./data.ts";
import { simulatedData } from "./datasets/simulated.ts";
import { sweepData } from "./datasets/sweep.ts";
import { METHODS, trainAll } from "./methods.ts";
import type { Method, Predictor } from "./methods.ts";

type MethodErrors = Record<Method, number | null>;

/** Mean absolute percentage error, one decimal; null without rows. */
function mape(rows: readonly Row[], predict: Predictor): number | null {
  if (rows.length === 0) return null;
  const predicted = predict(rows);
  const sum = rows.reduce(
    (total, { tailSeconds }, i) => total + Math.abs((predicted[i] ?? 0) / tailSeconds - 1),
    0,
  );
  return Math.round((1_000 * sum) / rows.length) / 10;
}

function measureSplit(data: FlowData, { name, train, test, kneeSeconds }: Split): Record<string, unknown> {
  const methods = trainAll(train);
  const knee = test.filter(({ tailSeconds }) => tailSeconds >= kneeSeconds);
  const errors = (rows: readonly Row[]): MethodErrors =>
    Object.fromEntries(METHODS.map((method) => [method, mape(rows, methods[method])])) as MethodErrors;
  return {
    name: data.name,
    split: name,
    ownTails: "measured",
    rows: test.length,
    mape: errors(test),
    kneeRows: knee.length,
    kneeMape: errors(knee),
    notes: data.notes,
  };
}

export const benchmark: Benchmark = {
  summary: "error of the end-to-end tail from measured self times on configurations and times never seen",
  run({ progress, quick, seed }) {
    const path = sweepPath();
    if (path === undefined)
      progress(
        "no sweep of the local platform: set TRADEWIND_SWEEP to the file that `tradewind profile` wrote",
      );
    const all = [...(path === undefined ? [] : [sweepData(path)]), simulatedData(seed, quick)];
    const datasets = all.flatMap((data) =>
      SPLITS.map((split) => {
        progress(`${data.name} by ${split}`);
        return measureSplit(data, splitOf(data, split));
      }),
    );
    return Promise.resolve({ datasets, missing: path === undefined ? ["platform-sweep"] : [] });
  },
};
