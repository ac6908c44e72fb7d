import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { compileFlow, serviceIndex } from "../endtoend/call-graph.ts";
import { FlowTail } from "../endtoend/flow-tail.ts";
import { EXPONENTIAL_MEAN_OVER_TAIL, meanOverTail } from "../endtoend/lognormal.ts";
import { flowTailSeconds } from "../queue/objective.ts";

/** One row to learn an end-to-end residual from. */
export interface EndToEndRow {
  readonly atMs: number;
  /** Largest own tail over the containers of each service, seconds; NaN where it was not measured. */
  readonly ownTails: Float64Array;
  /** Mean over largest own tail of each service's containers; absent means alike. */
  readonly meanShares?: Float64Array;
  /** What the call graph says, seconds. */
  readonly priorSeconds: number;
  /** What was measured, seconds. */
  readonly tailSeconds: number;
}

/** Flows with fewer requests than this in a window have no tail to speak of. */
export const LEAST_REQUESTS = 20;

/** Rows to train on below which nothing is learnt that the call graph does not say. */
export const LEAST_END_TO_END_ROWS = 60;

/** Rows that a training needs in all: 64 % of them train, the others stop it and judge it. */
export const LEAST_ROWS_IN_ALL = Math.ceil(LEAST_END_TO_END_ROWS / 0.64);

/**
 * Rows of one flow from stored windows, oldest first: own tails as measured, the call graph as it was in each window.
 * @param services names in the order of the rows' own tails
 * @param percentile of the objective; the call graph itself speaks of p95, the residual learns the difference
 */
export function endToEndRows(
  sets: readonly WindowSet[],
  flowName: string,
  services: readonly string[],
  percentile: number,
): EndToEndRow[] {
  const rows: EndToEndRow[] = [];
  for (const set of [...sets].sort((a, b) => a.endMs - b.endMs)) {
    const flow = set.flows.find((each) => each.flow === flowName);
    const row = flow && endToEndRow(set, flow, services, percentile);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/**
 * The row of one flow in one window set.
 * @returns undefined where the flow has too few requests, a part of its spans is missing, or graph or tail say nothing
 */
export function endToEndRow(
  set: WindowSet,
  flow: FlowWindow,
  services: readonly string[],
  percentile: number,
): EndToEndRow | undefined {
  if (flow.latency.count < LEAST_REQUESTS) return undefined;
  const lacking = new Set(
    set.windows.filter(({ missing }) => missing !== undefined).map(({ service }) => service),
  );
  if (flow.services.some((service) => lacking.has(service))) return undefined;
  const index = serviceIndex(services);
  const graph = compileFlow(flow, set, index);
  if (graph === undefined) return undefined;
  const ownTails = new Float64Array(services.length).fill(Number.NaN);
  const shares = new Float64Array(services.length).fill(EXPONENTIAL_MEAN_OVER_TAIL);
  for (const { service, ownLatency } of set.windows) {
    const number = index.numberOf.get(service);
    if (number === undefined || ownLatency === undefined || !(ownLatency.p95Seconds > 0)) continue;
    ownTails[number] = ownLatency.p95Seconds;
    shares[number] = meanOverTail(ownLatency);
  }
  const known = Float64Array.from(ownTails, (seconds) => (Number.isNaN(seconds) ? 0 : seconds));
  const priorSeconds = new FlowTail(graph, known, shares).tailSeconds;
  const tailSeconds = flowTailSeconds(flow.latency, percentile);
  if (!(priorSeconds > 0) || !(tailSeconds > 0)) return undefined;
  return { atMs: set.endMs, ownTails, priorSeconds, tailSeconds };
}
