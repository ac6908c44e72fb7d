import type { FlowWindow } from "@tradewind/core/contract/window.ts";

/** Numbers of services by name. */
interface Numbered {
  readonly numberOf: ReadonlyMap<string, number>;
}

/** Calls of one service to another on behalf of a flow, services by number. */
export interface Call {
  readonly callee: number;
  /** Mean calls per request that reaches the caller. */
  readonly callsPerRequest: number;
  /** Most of them overlapped another call of the same request. */
  readonly parallel: boolean;
}

/** Calls that run at the same time, as composition needs them. */
export interface Stage {
  readonly perRequest: number;
  readonly steps: number;
  readonly toss: number;
  readonly members: readonly StageMember[];
}

export interface StageMember {
  readonly callee: number;
  /** Mean calls in one stage. */
  readonly calls: number;
  readonly isSure: boolean;
}

type Listed = Pick<Stage, "perRequest" | "steps"> & {
  readonly members: readonly Pick<StageMember, "callee" | "calls">[];
};

/** From this share of requests on a callee counts as called by every one: some are cut short by errors. */
const SURE = 0.99;
/** Calls per request that no listed stage accounts for, and fewer than this, are a matter of rounding. */
const ROUNDING = 1e-6;

/** The stages that a window lists, by number of the caller. */
export function listedStages(flow: FlowWindow, index: Numbered): ReadonlyMap<number, readonly Listed[]> {
  const listed = new Map<number, Listed[]>();
  for (const { caller, perRequest, steps, calls } of flow.stages ?? []) {
    const from = index.numberOf.get(caller);
    if (from === undefined) continue;
    const members = calls.flatMap(({ callee, calls: count }) => {
      const to = index.numberOf.get(callee);
      return to === undefined ? [] : [{ callee: to, calls: count }];
    });
    const known = listed.get(from) ?? [];
    known.push({ perRequest, steps, members });
    listed.set(from, known);
  }
  return listed;
}

/**
 * The stages of one caller. Calls that no listed stage accounts for stand by what is known of each pair: those that ran beside
 * others are one stage together, the others follow each other.
 * @param kept calls of the caller that are part of the graph
 */
export function stagesOf(kept: readonly Call[], listed: readonly Listed[]): Stage[] {
  const totals = new Map(kept.map(({ callee, callsPerRequest }) => [callee, callsPerRequest]));
  const left = new Map(totals);
  const stages: Listed[] = [];
  for (const { members, perRequest, steps } of listed) {
    const inGraph = members.filter(({ callee }) => totals.has(callee));
    if (inGraph.length === 0) continue;
    for (const { callee, calls } of inGraph) left.set(callee, (left.get(callee) ?? 0) - perRequest * calls);
    stages.push({ perRequest, steps, members: inGraph });
  }
  const beside = kept.filter(({ callee, parallel }) => parallel && (left.get(callee) ?? 0) > ROUNDING);
  if (beside.length > 0) {
    const members = beside.map(({ callee }) => ({ callee, calls: left.get(callee) ?? 0 }));
    stages.push({ perRequest: 1, steps: 1, members });
  }
  for (const { callee, parallel } of kept) {
    const perRequest = left.get(callee) ?? 0;
    if (!parallel && perRequest > ROUNDING)
      stages.push({ perRequest, steps: 1, members: [{ callee, calls: 1 }] });
  }
  return stages.map((stage) => completed(stage, totals));
}

/**
 * Whether a stage takes place is a toss only as far as its callees are called by chance: requests whose calls happen to overlap
 * in another way each time still make all of them.
 */
function completed({ members, perRequest, steps }: Listed, totals: ReadonlyMap<number, number>): Stage {
  const byCallees = members.map(({ callee }) => tossOf(totals.get(callee) ?? 0));
  return {
    perRequest,
    steps,
    toss: Math.min(tossOf(perRequest), Math.max(...byCallees)),
    members: members.map(({ callee, calls }) => ({
      callee,
      calls,
      isSure: (totals.get(callee) ?? 0) >= SURE,
    })),
  };
}

/** Variance of a whole number with this mean that is one of the two next to it. */
function tossOf(mean: number): number {
  const fraction = mean - Math.floor(mean);
  return fraction * (1 - fraction);
}
