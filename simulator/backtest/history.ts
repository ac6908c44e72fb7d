import type { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";

/** A route's window with the interval it belongs to, as the store keeps it. */
export interface DatedFlow extends FlowWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Puts stored windows of services and routes together by interval, oldest first. Intervals without a window of a service or
 * without a route are left out: nothing can be predicted of them.
 */
export function historyOf(windows: Iterable<Window>, flows: Iterable<DatedFlow>): WindowSet[] {
  const intervals = new Map<
    string,
    { startMs: number; endMs: number; windows: Window[]; flows: FlowWindow[] }
  >();
  const at = (startMs: number, endMs: number) => {
    const key = `${startMs}/${endMs}`;
    const found = intervals.get(key) ?? { startMs, endMs, windows: [], flows: [] };
    intervals.set(key, found);
    return found;
  };
  for (const window of windows) at(window.startMs, window.endMs).windows.push(window);
  for (const { startMs, endMs, ...flow } of flows) at(startMs, endMs).flows.push(flow);
  return [...intervals.values()]
    .filter((each) => each.windows.length > 0 && each.flows.length > 0)
    .sort((a, b) => a.startMs - b.startMs);
}

/** The part that models are fitted on, and the later part that they are judged by and policies are replayed on. */
export interface SplitHistory {
  readonly fit: readonly WindowSet[];
  readonly later: readonly WindowSet[];
}

/**
 * @param sets oldest first
 * @param fitRatio share of the time they span that models see; above 0 and below 1
 */
export function splitHistory(sets: readonly WindowSet[], fitRatio: number): SplitHistory {
  const startMs = sets[0]?.startMs ?? 0;
  const untilMs = startMs + fitRatio * ((sets.at(-1)?.endMs ?? startMs) - startMs);
  const firstLater = sets.findIndex(({ endMs }) => endMs > untilMs);
  const cut = firstLater === -1 ? sets.length : firstLater;
  return { fit: sets.slice(0, cut), later: sets.slice(cut) };
}
