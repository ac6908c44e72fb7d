import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import { FlowTail } from "@tradewind/predictor/models/route/flow-tail.ts";
import type { FlowStage } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { emptySet, flowOf } from "./random-application.ts";

export interface StageFacts {
  readonly caller?: number;
  readonly perRequest?: number;
  readonly steps?: number;
  /** Calls by number of the callee. */
  readonly calls: Readonly<Record<number, number>>;
}

/** The tail of a flow of `count` services of which `s0` is the entry, with these stages. */
export function stagedTail(
  count: number,
  stages: readonly StageFacts[],
  tails: readonly number[],
  shares: readonly number[],
): FlowTail {
  const listed = stages.map(({ caller = 0, calls, perRequest = 1, steps = 1 }): FlowStage => ({
    caller: `s${caller}`,
    perRequest,
    steps,
    calls: Object.entries(calls).map(([callee, each]) => ({ callee: `s${callee}`, calls: each })),
  }));
  const totals = new Map<string, number>();
  for (const { caller, calls, perRequest } of listed) {
    for (const { callee, calls: each } of calls) {
      const pair = `${caller} ${callee}`;
      totals.set(pair, (totals.get(pair) ?? 0) + perRequest * each);
    }
  }
  const calls = [...totals].map(([pair, callsPerRequest]) => {
    const [caller = "", callee = ""] = pair.split(" ");
    return { caller, callee, callsPerRequest, parallelRatio: 1 };
  });
  const index = serviceIndex(Array.from({ length: count }, (_, service) => `s${service}`));
  const graph = compileFlow({ ...flowOf(calls), stages: listed }, emptySet, index)!;
  return new FlowTail(graph, Float64Array.from(tails), Float64Array.from(shares));
}

/** Stages among `count` services, all reached from `s0`: some beside others, some called several times at once. */
export function randomStages(count: number, rng: Rng): StageFacts[] {
  const callees = new Map<number, number[]>();
  for (let callee = 1; callee < count; callee += 1) {
    const callers = new Set([Math.floor(rng() * callee)]);
    if (rng() < 0.3) callers.add(Math.floor(rng() * callee));
    for (const caller of callers) callees.set(caller, [...(callees.get(caller) ?? []), callee]);
  }
  return [...callees].flatMap(([caller, all]) => {
    const stages: StageFacts[] = [];
    for (let from = 0; from < all.length;) {
      const to = from + 1 + Math.floor(rng() * (all.length - from));
      stages.push({
        caller,
        perRequest: rng() < 0.7 ? 1 : 0.1 + 2 * rng(),
        steps: rng() < 0.8 ? 1 : 1 + 2 * rng(),
        calls: Object.fromEntries(
          all.slice(from, to).map((callee) => [callee, rng() < 0.6 ? 1 : 1 + Math.floor(15 * rng())]),
        ),
      });
      from = to;
    }
    return stages;
  });
}

/** Mean over tail of a service: log-normal mostly, of two kinds of calls or with rare spikes now and then. */
export function randomShare(rng: Rng): number {
  const kind = rng();
  if (kind < 0.1) return 0.05 + 0.25 * rng();
  return kind < 0.2 ? 1 + rng() : 0.3 + 0.65 * rng();
}
