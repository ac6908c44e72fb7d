import type { Window } from "@tradewind/core/contract/window.ts";
import { openStoreForReading } from "./database.ts";
import { mergeByStart, withoutOverlap } from "./merge-order.ts";
import type { StoredFlow, WindowQuery } from "./window-store.ts";

/** A store's file opened beside whoever writes it. Each time comes in the finest resolution that is kept. */
export interface HistoryReader extends Disposable {
  windows(query: WindowQuery): Iterable<Window>;
  /** Of all resolutions: an interval may come twice, once in each. */
  flows(query: Pick<WindowQuery, "fromMs" | "toMs">): Iterable<StoredFlow>;
}

/** @throws TradewindError `no-store` when there is no file at `path` */
export function openHistory(path: string): HistoryReader {
  const tables = openStoreForReading(path);
  return {
    windows: (query) =>
      withoutOverlap(
        mergeByStart(tables.resolutions("windows").map((resolution) => tables.windows(resolution, query))),
      ),
    *flows({ fromMs, toMs }) {
      for (const resolution of tables.resolutions("flows")) yield* tables.flows(resolution, fromMs, toMs);
    },
    [Symbol.dispose]: () => tables.database.close(),
  };
}
