/**
 * Sources against recorded and generated data:
 * - recorded Jaeger traces (DeathStarBench, Social Network; data/README.md §7) through the Jaeger source and, as the same
 *   spans, pushed straight to the window builder: edges and windows must agree;
 * - seven days of span metrics of 50 services, backfilled from a local VictoriaMetrics, and again after a stop half-way.
 * The recording is read from `TRADEWIND_DATA` (default `../shared/data`).
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { installed } from "../../test/installed.ts";
import type { Benchmark } from "../benchmark.ts";
import { backfillFigures } from "./backfill.ts";
import { jaegerFigures } from "./recorded-jaeger.ts";

export const benchmark: Benchmark = {
  summary: "recorded Jaeger traces and a seven-day backfill through the pulled sources",
  run: async ({ quick, progress }) => {
    const data = process.env["TRADEWIND_DATA"] ?? "../shared/data";
    const recording = join(data, "traces/deathstarbench/traces-1695947455229.json.gz");
    if (!existsSync(recording)) throw new Error(`no recorded traces at ${recording}; set TRADEWIND_DATA`);
    const victoria = installed("victoria-metrics");
    if (victoria === undefined) throw new Error("victoria-metrics is not installed");
    progress("recorded Jaeger traces");
    const jaeger = await jaegerFigures(recording);
    progress("importing history into victoria-metrics");
    const backfill = await backfillFigures(victoria, quick, progress);
    return { jaeger, backfill };
  },
};
