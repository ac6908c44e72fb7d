import { setImmediate as nextTurn } from "node:timers/promises";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import type { WindowStore } from "../store/window-store.ts";
import { Period } from "./period.ts";

/** The store is read for so long a time at once, and spans have their turn in between. */
const SLICE_MS = 600_000;
/** More than are decided on in such a time. */
const MOST_CHANGES = 100_000;

/**
 * What happened to an application from `fromMs` up to `toMs`, ms since the epoch. Undefined where nothing is stored of it.
 */
export async function readPeriod(
  store: Pick<WindowStore, "decisions" | "flows" | "windows">,
  application: Application,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<PeriodReport | undefined> {
  const period = new Period(application);
  const { namespace } = application;
  const slices = Math.ceil((toMs - fromMs) / SLICE_MS);
  for (let index = 0; index < slices; index += 1) {
    const startMs = fromMs + index * SLICE_MS;
    const slice = { fromMs: startMs, toMs: Math.min(toMs, startMs + SLICE_MS) };
    for (const window of store.windows({ ...slice, namespace })) period.addWindow(window);
    for (const flow of store.flows(slice)) period.addFlow(flow);
    for (const change of store.decisions({ ...slice, most: MOST_CHANGES })) period.addChange(change);
    await nextTurn();
  }
  return period.report();
}
