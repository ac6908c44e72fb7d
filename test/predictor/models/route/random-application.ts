import type { FlowCall, FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

const latency = { count: 100, meanSeconds: 0.01, p50Seconds: 0.008, p95Seconds: 0.03, p99Seconds: 0.05 };

/** A flow in which service `s0` is the entry, with the calls given. */
export function flowOf(calls: readonly FlowCall[], entryService = "s0"): FlowWindow {
  const services = [...new Set([entryService, ...calls.flatMap(({ caller, callee }) => [caller, callee])])];
  return {
    flow: "GET /",
    entryService,
    requestsPerSecond: 10,
    errorRatio: 0,
    latency,
    services,
    calls: [...calls],
  };
}

export const call = (caller: string, callee: string, callsPerRequest = 1, parallelRatio = 0): FlowCall => ({
  caller,
  callee,
  callsPerRequest,
  parallelRatio,
});

/** Calls among `count` services in which `s0` is the entry and every service is reached: a random acyclic graph. */
export function randomCalls(count: number, rng: Rng): FlowCall[] {
  const calls: FlowCall[] = [];
  for (let callee = 1; callee < count; callee += 1) {
    const callers = new Set([Math.floor(rng() * callee)]);
    if (rng() < 0.3) callers.add(Math.floor(rng() * callee));
    for (const caller of callers) {
      calls.push(call(`s${caller}`, `s${callee}`, rng() < 0.5 ? 1 : 0.2 + 2 * rng(), rng() < 0.5 ? 1 : 0));
    }
  }
  return calls;
}

export const emptySet: WindowSet = { startMs: 0, endMs: 15_000, windows: [], flows: [] };
