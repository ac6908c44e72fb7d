/** Runs a backfill in small steps and says how far it is. Killed by the test. */
import { createLog } from "@tradewind/core/process/log.ts";
import { Backfill } from "@tradewind/predictor/sources/backfill/backfill.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";

const [, , url = "", path = "", nowMs = ""] = process.argv;
const log = createLog("backfill", "silent");
const options = PrometheusOptions.parse({
  url,
  metrics: "otel",
  backfill: { days: 1, concurrency: 1, maxSamplesPerQuery: 1_000 },
});
const source = new PrometheusSource(options, { namespace: "shop", entries: () => ["service-0"] });
const store = new SqliteStore({ path, log });
const onProgress = ({ doneRatio }: { doneRatio: number }): boolean => process.stdout.write(`${doneRatio}\n`);
await new Backfill({ source, store, windowSeconds: 15, rawDays: 0.5, log, onProgress }).run(Number(nowMs));
