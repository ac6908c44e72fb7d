import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@tradewind/core/process/log.ts";
import { Backfill } from "@tradewind/predictor/sources/backfill/backfill.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { importHistory } from "../../test/predictor/sources/backfill/history.ts";
import { startVictoriaMetrics } from "../../test/predictor/sources/prometheus/metric-servers.ts";

const DAY_MS = 86_400_000;

/** Backfill into an empty store, stopped at half and gone on with; heap is sampled after every chunk. */
export async function backfillFigures(
  program: string,
  quick: boolean,
  progress: (text: string) => void,
): Promise<Record<string, unknown>> {
  const services = quick ? 5 : 50;
  const days = quick ? 1 : 7;
  const nowMs = Math.floor(Date.now() / 300_000) * 300_000 - 600_000;
  const directory = mkdtempSync(join(tmpdir(), "tradewind-bench-"));
  const server = await startVictoriaMetrics(program);
  try {
    await importHistory(server.url, {
      services,
      fromMs: nowMs - days * DAY_MS,
      toMs: nowMs,
      scrapeMs: 30_000,
    });
    await server.settled();
    const path = join(directory, "history.sqlite");
    const log = createLog("bench", "silent");
    const options = PrometheusOptions.parse({ url: server.url, metrics: "otel", backfill: { days } });
    const source = new PrometheusSource(options, { namespace: "shop", entries: () => ["service-0"] });
    const heap = { peakBytes: 0 };
    const runOnce = async (until: number): Promise<{ seconds: number; windows: number; state: string }> => {
      const store = new SqliteStore({ path, log });
      const backfill = new Backfill({
        source,
        store,
        windowSeconds: 15,
        rawDays: 2,
        log,
        onProgress: ({ doneRatio, etaSeconds }) => {
          heap.peakBytes = Math.max(heap.peakBytes, process.memoryUsage().heapUsed);
          progress(`backfill ${(doneRatio * 100).toFixed(0)} %, ${etaSeconds?.toFixed(0) ?? "?"} s left`);
          if (doneRatio >= until) void backfill.stop();
        },
      });
      const beganMs = performance.now();
      const { windows, state } = await backfill.run(nowMs);
      const seconds = (performance.now() - beganMs) / 1_000;
      await store.close();
      return { seconds, windows, state };
    };
    const first = await runOnce(0.5);
    const second = await runOnce(2);
    await source.close();
    return {
      services,
      days,
      seconds: first.seconds + second.seconds,
      windows: first.windows + second.windows,
      firstState: first.state,
      secondState: second.state,
      windowsBeforeStop: first.windows,
      heapPeakBytes: heap.peakBytes,
      rssBytes: process.memoryUsage().rss,
      storeBytes: statSync(path).size,
      receivedBytes: source.endpoint.health.receivedBytesTotal,
    };
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
