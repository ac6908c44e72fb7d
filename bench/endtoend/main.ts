import { seededRng } from "@tradewind/core/rng.ts";
import { startEngine } from "@tradewind/predictor/training/backend.ts";
import { Trainer } from "@tradewind/predictor/training/trainer.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { sweepPath } from "../profile/datasets/sweep.ts";
import { SPLITS, splitOf } from "./data.ts";
import type { FlowData, Row, Split } from "./data.ts";
import { areaUnderCurve, hotelSplits } from "./datasets/hotel.ts";
import { simulatedData } from "./datasets/simulated.ts";
import { sweepData } from "./datasets/sweep.ts";
import { attention, boosted, METHODS, monolithic, naive, trainAll } from "./methods.ts";
import type { Budget, Method, Predictor } from "./methods.ts";
import { withPredictedOwnTails } from "./predicted.ts";

type MethodErrors = Record<Method, number | null>;

const FULL: Budget = { maxSteps: 600, epochs: 60 };
const QUICK: Budget = { maxSteps: 60, epochs: 5 };

const NOTHING: MethodErrors = {
  ours: null,
  graph: null,
  attention: null,
  monolithic: null,
  boosted: null,
  naive: null,
};

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

function measureSplit(
  data: FlowData,
  { name, train, test, kneeSeconds }: Split,
  ownTails: "measured" | "predicted",
  { seed, quick }: BenchmarkOptions,
): Record<string, unknown> {
  const methods = trainAll(train, data.services, quick ? QUICK : FULL, seededRng(seed));
  const knee = test.filter(({ tailSeconds }) => tailSeconds >= kneeSeconds);
  const errors = (rows: readonly Row[]): MethodErrors =>
    Object.fromEntries(METHODS.map((method) => [method, mape(rows, methods[method])])) as MethodErrors;
  return {
    name: data.name,
    split: name,
    ownTails,
    rows: test.length,
    mape: errors(test),
    kneeRows: knee.length,
    kneeMape: errors(knee),
    notes: data.notes,
  };
}

/** Both splits, with own tails as measured (Grad's question) and as the profiles predict them (the plan's question). */
async function measure(
  data: FlowData,
  options: BenchmarkOptions,
  trainers: readonly Trainer[],
): Promise<Record<string, unknown>[]> {
  const results: Record<string, unknown>[] = [];
  for (const split of SPLITS) {
    options.progress(`${data.name} by ${split}`);
    results.push(measureSplit(data, splitOf(data, split, true), "measured", options));
    if (options.quick) continue;
    const predicted = await withPredictedOwnTails(data, split, trainers);
    results.push(measureSplit(predicted, splitOf(predicted, split, false), "predicted", options));
  }
  return results;
}

/** Hotel Reservation has no latency per service and no tail that can be trusted: classes of the mean, scored by AUC. */
function measureHotel({ seed, quick, progress }: BenchmarkOptions): Record<string, unknown>[] {
  return hotelSplits().map(({ name, services, train, test, slow }) => {
    progress(`hotel-reservation by ${name}`);
    const budget = quick ? QUICK : FULL;
    const methods = {
      attention: attention(train, services, budget, seededRng(seed)),
      monolithic: monolithic(train, budget, seededRng(seed)),
      boosted: boosted(train),
      naive: naive(train),
    };
    const auc = Object.fromEntries(
      Object.entries(methods).map(([method, predict]) => [
        method,
        Math.round(1_000 * areaUnderCurve(predict(test), slow)) / 1_000,
      ]),
    );
    return {
      name: "hotel-reservation",
      split: name,
      rows: test.length,
      mape: NOTHING,
      kneeMape: NOTHING,
      auc,
      notes:
        "e2e/hotel-reservation, ucbopt, windows with whole numbers of replicas; published tails of this policy are no measurements, " +
        "so the area under the ROC curve for a mean above 70 ms; replicas are all there is to go by: no call graph, no own latency",
    };
  });
}

export const benchmark: Benchmark = {
  summary: "error of the end-to-end tail on configurations and times never seen, beside ablations and rivals",
  async run(options) {
    const { engine: backend } = await startEngine();
    const trainers = [0, 1].map(() => new Trainer({ timeoutMs: 1_200_000 }));
    const path = sweepPath();
    const missing: string[] = [];
    const datasets: Record<string, unknown>[] = [];
    try {
      if (path === undefined) {
        missing.push("platform-sweep");
        options.progress(
          "no sweep of the local platform: set TRADEWIND_SWEEP to the file that `tradewind profile` wrote",
        );
      } else {
        datasets.push(...(await measure(sweepData(path), options, trainers)));
      }
      datasets.push(...measureHotel(options));
      datasets.push(...(await measure(simulatedData(options.seed, options.quick), options, trainers)));
    } finally {
      await Promise.all(trainers.map((trainer) => trainer.stop()));
    }
    return { backend, datasets, missing };
  },
};
