import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { quantile } from "@tradewind/core/values/statistics.ts";
import { entryFlow } from "@tradewind/predictor/sources/prometheus/flow.ts";

/** Intervals of a history with the one route that metrics can tell: everything that enters at `entry`. */
export const throughEntry = (sets: readonly WindowSet[], entry: string): WindowSet[] =>
  sets.flatMap((set) => {
    const flow = entryFlow(set.windows, entry);
    return flow === undefined ? [] : [{ ...set, flows: [flow] }];
  });

/** Windows by interval, oldest first. */
export const intervalsOf = (windows: Iterable<Window>): WindowSet[] =>
  [...Map.groupBy(windows, ({ endMs, startMs }) => `${startMs}/${endMs}`).values()]
    .map((all) => ({ startMs: all[0]?.startMs ?? 0, endMs: all[0]?.endMs ?? 0, windows: all, flows: [] }))
    .sort((a, b) => a.startMs - b.startMs);

/** Services with requests, most requests first. */
export function calledServices(sets: readonly WindowSet[]): string[] {
  const requests = new Map<string, number>();
  for (const { endMs, startMs, windows } of sets) {
    for (const { requestsPerSecond = 0, service } of windows) {
      if (requestsPerSecond > 0)
        requests.set(service, (requests.get(service) ?? 0) + requestsPerSecond * (endMs - startMs));
    }
  }
  return [...requests].sort((a, b) => b[1] - a[1]).map(([service]) => service);
}

/** The service with requests that no other was seen to call; of several the one with most requests. */
export function rootOf(sets: readonly WindowSet[]): string | undefined {
  const callees = new Set(
    sets.flatMap(({ windows }) => windows.flatMap((window) => window.callees.map(({ callee }) => callee))),
  );
  const called = calledServices(sets);
  return called.find((service) => !callees.has(service)) ?? called[0];
}

/** Share of the intervals that keep a proposed objective. */
const KEPT = 0.9;
const STEPS_MS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/**
 * A round objective that nine of ten intervals kept: what users are used to.
 * @param sets with the one route of the entry
 * @returns milliseconds; undefined where no latency was measured
 */
export function usualMilliseconds(sets: readonly WindowSet[]): number | undefined {
  const tails = sets.flatMap(({ flows }) => flows.map(({ latency }) => 1e3 * latency.p95Seconds));
  if (tails.length === 0) return undefined;
  const usual = Math.max(1, quantile(tails, KEPT));
  const power = 10 ** Math.floor(Math.log10(usual));
  return (STEPS_MS.find((step) => step * power >= usual) ?? 10) * power;
}
