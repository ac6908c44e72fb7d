import type { FlowCall, FlowWindow } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

/** An application as a benchmark makes it: a gateway, and flows in tiers behind it that share some of their services. */
export interface SyntheticApplication {
  /** The first one is the gateway, where every flow enters. */
  readonly services: readonly string[];
  readonly flows: readonly FlowWindow[];
}

/** Too few calls to correct the model by: what is timed is the plan, not a calibration. */
const latency = { count: 1, meanSeconds: 0.05, p50Seconds: 0.04, p95Seconds: 0.15, p99Seconds: 0.25 };

/** Services that one flow touches, about: production call graphs are this small whatever the size of the application. */
const SERVICES_PER_FLOW = 40;

/**
 * An application of `count` services whose flows have the depth (3-8) and fan-out (1-6, most of it at the top) that
 * production call graphs show. A third of the fan-out runs in parallel, and a tenth of the services is shared by
 * several callers.
 */
export function syntheticApplication(count: number, rng: Rng): SyntheticApplication {
  const services = Array.from({ length: count }, (_, service) => `s${service}`);
  const [gateway = "s0", ...behind] = services;
  const flowCount = Math.max(1, Math.round(behind.length / SERVICES_PER_FLOW));
  const perFlow = Math.ceil(behind.length / flowCount);
  const flows = Array.from({ length: flowCount }, (_, flow) => {
    const members = behind.slice(flow * perFlow, (flow + 1) * perFlow);
    return syntheticFlow(`GET /${flow}`, gateway, members, { all: behind, rng });
  });
  return { services, flows };
}

function syntheticFlow(
  name: string,
  gateway: string,
  own: readonly string[],
  { all, rng }: { readonly all: readonly string[]; readonly rng: Rng },
): FlowWindow {
  const [first = gateway, ...rest] = own;
  const depth = 3 + Math.floor(6 * rng());
  const tiers: string[][] = [[first]];
  for (const service of rest) {
    const tier = 1 + Math.floor(depth * rng() * rng());
    const usable = Math.min(tier, tiers.length);
    (tiers[usable] ??= []).push(service);
  }
  const calls: FlowCall[] = [{ caller: gateway, callee: first, callsPerRequest: 1, parallelRatio: 0 }];
  for (let tier = 1; tier < tiers.length; tier += 1) {
    const callers = tiers[tier - 1] ?? [];
    for (const callee of tiers[tier] ?? []) {
      const caller = callers[Math.floor(rng() * callers.length)] ?? first;
      calls.push({
        caller,
        callee,
        callsPerRequest: rng() < 0.8 ? 1 : 0.1 + 2 * rng(),
        parallelRatio: rng() < 0.33 ? 1 : 0,
      });
    }
  }
  for (const caller of rest) {
    if (rng() > 0.1) continue;
    const callee = all[Math.floor(rng() * all.length)] ?? first;
    if (!own.includes(callee)) calls.push({ caller, callee, callsPerRequest: 1, parallelRatio: 0 });
  }
  const members = [...new Set([gateway, ...calls.flatMap(({ caller, callee }) => [caller, callee])])];
  return {
    flow: name,
    entryService: gateway,
    requestsPerSecond: 50,
    errorRatio: 0,
    latency,
    services: members,
    calls,
  };
}
