import type { FlowWindow, Window } from "@tradewind/core/contract/window.ts";

/**
 * The one flow that request metrics can tell: everything that enters at the entry service, end to end, and the services
 * its calls reach. Flows by operation need traces.
 * @returns undefined when the entry service had no measured requests
 */
export function entryFlow(windows: readonly Window[], entry: string): FlowWindow | undefined {
  const byService = new Map(windows.map((window) => [window.service, window]));
  const window = byService.get(entry);
  if (window?.requestsPerSecond === undefined || window.responseLatency === undefined) return undefined;
  const reached = new Set([entry]);
  for (const service of reached) {
    for (const { callee } of byService.get(service)?.callees ?? []) {
      if (reached.size < 5_000) reached.add(callee);
    }
  }
  return {
    flow: entry,
    entryService: entry,
    requestsPerSecond: window.requestsPerSecond,
    errorRatio: window.errorRatio ?? 0,
    latency: window.responseLatency,
    services: [...reached],
  };
}
