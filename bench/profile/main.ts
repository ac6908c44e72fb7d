import { startEngine } from "@tradewind/predictor/training/backend.ts";
import type { Benchmark } from "../benchmark.ts";
import type { Dataset } from "./dataset.ts";
import { gkeDatasets, gkeReference } from "./datasets/gke.ts";
import { hotelDatasets } from "./datasets/hotel.ts";
import { onlineBoutiqueDatasets } from "./datasets/online-boutique.ts";
import { sweepDatasets, sweepPath } from "./datasets/sweep.ts";
import { measure } from "./measure.ts";
import { fitBoosted } from "./rivals/boosted.ts";
import { measureServed } from "./served.ts";

/**
 * Our boosted trees on the two columns and all rows that the data's README used: should come to its 8.8 % and 31 % by
 * day, 14.9 % and 65 % by replica count.
 */
function boostedReference(): Record<string, unknown>[] {
  return gkeReference().map(({ split, train, test }) => {
    const fit = fitBoosted(
      train.map(({ columns }) => columns),
      train.map(({ p95Seconds }) => Math.log(p95Seconds)),
    );
    const mape = (rows: typeof test): number => {
      const errors = rows.map(({ columns, p95Seconds }) => Math.abs(Math.exp(fit(columns)) / p95Seconds - 1));
      return Math.round((1000 * errors.reduce((sum, error) => sum + error, 0)) / rows.length) / 10;
    };
    return { split, all: mape(test), above5ms: mape(test.filter(({ p95Seconds }) => p95Seconds > 0.005)) };
  });
}

export const benchmark: Benchmark = {
  summary:
    "error of self-time models: as served window by window, and on configurations and times never seen",
  /** `--served`: only what the product's own models say of each window before it, a quarter of a minute in place of a quarter of an hour. */
  options: { served: { type: "boolean" } },
  async run({ seed, quick, progress, values }) {
    const served = measureServed(progress);
    if (values["served"] === true) return { served };
    const { engine: backend } = await startEngine();
    const sweep = sweepPath();
    if (sweep === undefined)
      progress(
        "no sweep of the local platform: set TRADEWIND_SWEEP to the file that `tradewind profile` wrote",
      );
    const sources: (() => Dataset[])[] = [
      gkeDatasets,
      ...(sweep === undefined ? [] : [() => sweepDatasets(sweep)]),
      hotelDatasets,
      onlineBoutiqueDatasets,
    ];
    const datasets = sources.flatMap((source) => source());
    const results: Record<string, unknown>[] = [];
    const startedMs = performance.now();
    for (const [i, dataset] of datasets.entries()) {
      results.push(measure(dataset, { seed, quick }, progress));
      const seconds = (performance.now() - startedMs) / 1e3;
      progress(`${i + 1} of ${datasets.length} data sets after ${seconds.toFixed(0)} s`);
    }
    return {
      served,
      backend,
      datasets: results,
      missing: sweep === undefined ? ["platform-sweep"] : [],
      boostedReference: boostedReference(),
    };
  },
};
