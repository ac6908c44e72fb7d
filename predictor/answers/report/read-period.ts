import { setImmediate as nextTurn } from "node:timers/promises";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { WindowStore } from "../../store/window-store.ts";
import { Period } from "./period.ts";

/** The store is read for so long a time at once, and spans have their turn in between. Times of which nothing is stored cost nothing. */
const SLICE_MS = 600_000;
/** More than are decided on in such a time. */
const MOST_CHANGES = 100_000;

/** Reads what happened to an application, for one reader at a time: a report of 60 days reads the whole store. */
export class PeriodReader {
  #isBusy = false;

  /**
   * From `fromMs` up to `toMs`, ms since the epoch. Undefined where nothing is stored of it.
   * @throws TradewindError `busy` while another one is read
   */
  async read(
    store: Pick<WindowStore, "decisions" | "flows" | "windows">,
    application: Application,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): Promise<PeriodReport | undefined> {
    if (this.#isBusy) {
      throw new TradewindError("busy", "another report is being made; ask again in some seconds");
    }
    this.#isBusy = true;
    try {
      const period = new Period(application);
      const { namespace } = application;
      let startMs = firstWindowMs(store, fromMs, toMs);
      while (startMs !== undefined) {
        const slice = { fromMs: startMs, toMs: Math.min(toMs, startMs + SLICE_MS) };
        for (const window of store.windows({ ...slice, namespace })) period.addWindow(window);
        for (const flow of store.flows(slice)) period.addFlow(flow);
        const changes = [...store.decisions({ ...slice, most: MOST_CHANGES })];
        for (const change of changes.toReversed()) period.addChange(change);
        await nextTurn();
        startMs = firstWindowMs(store, slice.toMs, toMs);
      }
      return period.report();
    } finally {
      this.#isBusy = false;
    }
  }
}

/** When the first window begins that the store has of a time, of whatever namespace. */
function firstWindowMs(
  store: Pick<WindowStore, "windows">,
  fromMs: number,
  toMs: number,
): number | undefined {
  if (fromMs >= toMs) return undefined;
  const [first] = store.windows({ fromMs, toMs });
  return first?.startMs;
}
