import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { Backfill } from "@tradewind/predictor/sources/backfill/backfill.ts";
import type { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import type { StoreOptions } from "@tradewind/predictor/store/options.ts";
import { makeSources } from "@tradewind/predictor/sources/make-sources.ts";
import { readSections } from "@tradewind/predictor/sources/sources-config.ts";
import { findHistory } from "@tradewind/predictor/store/history-file.ts";
import { openHistory } from "@tradewind/predictor/store/read-history.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { historyOf } from "../backtest/history.ts";
import type { DatedFlow } from "../backtest/history.ts";

export interface RecordingQuery {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Windows that a predictor has stored.
 * @param state as of {@link findHistory}
 * @param application whose windows they are, where several are stored
 * @throws TradewindError `no-store`
 */
export function readStored(
  state: string,
  { fromMs, toMs }: RecordingQuery,
  application?: Pick<Application, "name" | "namespace">,
): WindowSet[] {
  const place = application && { application: application.name, namespace: application.namespace };
  using history = openHistory(findHistory(state, place));
  return historyOf(history.windows({ fromMs, toMs }), history.flows({ fromMs, toMs }));
}

/**
 * Windows that the predictor would make of what the first Prometheus-compatible server of a configuration has kept.
 * @param onProgress share of the time that has been read, [0, 1]
 * @throws TradewindError `invalid-config` when the file names no such server, `backfill-failed` when it refuses
 */
export async function readPrometheus(
  path: string,
  application: Application,
  { fromMs, toMs }: RecordingQuery,
  edges: { readonly log: Logger; readonly onProgress: (doneRatio: number) => void },
): Promise<WindowSet[]> {
  const { sources, store: options } = await readSections(path);
  const [source] = makeSources(sources, application).prometheus;
  if (source === undefined) {
    throw new TradewindError(
      "invalid-config",
      `${path} names no Prometheus-compatible server under sources.prometheus`,
    );
  }
  const { flows, windows } = await readSource(source, options, { fromMs, toMs }, edges);
  return historyOf(windows, flows);
}

/**
 * Windows of a minute, and routes through the source's entries, that a predictor would make of what a Prometheus-compatible server has kept.
 * @param minuteDays days that are read minute by minute, the ones before in five minutes; default: all
 * @throws TradewindError `backfill-failed` when it refuses
 */
export async function readSource(
  source: PrometheusSource,
  options: StoreOptions,
  { fromMs, toMs }: RecordingQuery,
  edges: { readonly log: Logger; readonly onProgress: (doneRatio: number) => void },
  minuteDays?: number,
): Promise<{ readonly windows: readonly Window[]; readonly flows: readonly DatedFlow[] }> {
  const days = Math.max(0.01, (toMs - fromMs) / 86_400_000);
  source.options.backfill.days = days;
  const store = new SqliteStore({
    path: undefined,
    options: { ...options, rawDays: days, fiveMinuteDays: days },
    log: edges.log,
  });
  try {
    const backfill = new Backfill({
      source,
      store,
      windowSeconds: 60,
      rawDays: minuteDays ?? days,
      log: edges.log,
      onProgress: ({ doneRatio }) => edges.onProgress(doneRatio),
    });
    const { problem, state } = await backfill.run(toMs);
    if (state !== "done") {
      throw new TradewindError(
        "backfill-failed",
        `${source.name}: ${problem ?? `reading ended as '${state}'`}`,
      );
    }
    return { windows: [...store.windows({ fromMs, toMs })], flows: [...store.flows({ fromMs, toMs })] };
  } finally {
    await store.close();
  }
}
