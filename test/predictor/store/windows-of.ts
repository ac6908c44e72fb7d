import type { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";

/** A window with every field that downsampling treats in its own way. */
export function aWindow(fields: Partial<Window> & { startMs: number }): Window {
  const endMs = fields.endMs ?? fields.startMs + 15_000;
  return {
    namespace: "shop",
    service: "cart",
    requestsPerSecond: 10,
    errorRatio: 0.01,
    responseLatency: { count: 150, meanSeconds: 0.02, p50Seconds: 0.015, p95Seconds: 0.05, p99Seconds: 0.08 },
    callees: [{ callee: "stock", callsPerSecond: 10, parallelRatio: 0 }],
    containers: [{ id: "c1", cpuUsageCores: 0.5, memoryWorkingSetBytes: 1e8 }],
    ...fields,
    endMs,
  };
}

export function aSet(startMs: number, services: readonly string[], lengthMs = 15_000): WindowSet {
  const endMs = startMs + lengthMs;
  return {
    startMs,
    endMs,
    windows: services.map((service) => aWindow({ startMs, endMs, service })),
    flows: [
      {
        flow: "GET /",
        entryService: services[0] ?? "cart",
        requestsPerSecond: 10,
        errorRatio: 0,
        latency: { count: 150, meanSeconds: 0.02, p50Seconds: 0.015, p95Seconds: 0.05, p99Seconds: 0.08 },
        services: [...services],
      },
    ],
  };
}

/** A flow called `GET` for each of these services. */
export function aSetOfEntries(startMs: number, entries: readonly string[]): WindowSet {
  const { flows, ...set } = aSet(startMs, entries);
  return {
    ...set,
    flows: entries.flatMap((entryService) =>
      flows.map((flow): FlowWindow => ({ ...flow, flow: "GET", entryService })),
    ),
  };
}
