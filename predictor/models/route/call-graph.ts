import type { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { listedStages, stagesOf } from "./stages.ts";
import type { Call, Stage } from "./stages.ts";

/** What services called in a window. */
interface MeasuredCalls {
  readonly windows: readonly Pick<Window, "callees" | "requestsPerSecond" | "service">[];
}

/** The services of an application, by number. */
export interface ServiceIndex {
  readonly names: readonly string[];
  readonly numberOf: ReadonlyMap<string, number>;
}

export function serviceIndex(names: readonly string[]): ServiceIndex {
  return { names, numberOf: new Map(names.map((name, number) => [name, number])) };
}

/**
 * The calls of one flow, as compressed rows: the stages of node `i` are `stageStart[i]` up to `stageStart[i + 1]`, the callees
 * of stage `s` are `calleeStart[s]` up to `calleeStart[s + 1]`. Nodes are numbered so that every callee comes before its
 * callers; the entry is the last node.
 */
export interface FlowGraph {
  readonly flow: string;
  /** Number of the service of each node, in the application's {@link ServiceIndex}. */
  readonly serviceOf: Int32Array;
  /** Node of each service, -1 where the service takes no part. */
  readonly nodeOf: Int32Array;
  /** Mean number of times that each node is reached per request of the flow. */
  readonly visits: Float64Array;
  readonly stageStart: Int32Array;
  /** Mean number of such stages per request that reaches the caller. */
  readonly perRequest: Float64Array;
  /** Calls of the stage that follow each other, at least 1. */
  readonly steps: Float64Array;
  /** Variance of how often the stage takes place: p·(1 − p) where it does so with chance p. */
  readonly toss: Float64Array;
  readonly calleeStart: Int32Array;
  readonly callee: Int32Array;
  /** Mean calls to the callee in one such stage. */
  readonly calls: Float64Array;
  /** 1 where every request that reaches the caller calls this callee. */
  readonly isSure: Uint8Array;
  readonly callerStart: Int32Array;
  readonly caller: Int32Array;
  /** Calls left out because they close a cycle. */
  readonly droppedCalls: number;
}

/**
 * Compiles the calls of one flow for evaluation.
 * @returns undefined when the entry service is not in the index
 */
export function compileFlow(
  flow: FlowWindow,
  set: MeasuredCalls,
  index: ServiceIndex,
): FlowGraph | undefined {
  const entry = index.numberOf.get(flow.entryService);
  if (entry === undefined) return undefined;
  const calls = flowCalls(flow, set, index);
  const { order, kept, dropped } = topologicalOrder(entry, calls);
  const nodeOf = new Int32Array(index.names.length).fill(-1);
  for (const [node, service] of order.entries()) nodeOf[service] = node;

  const listed = listedStages(flow, index);
  const stages = order.map((service) => stagesOf(kept.get(service) ?? [], listed.get(service) ?? []));
  const callers: number[][] = order.map(() => []);
  for (const [node, service] of order.entries()) {
    for (const { callee } of kept.get(service) ?? []) callers[nodeOf[callee] ?? 0]?.push(node);
  }
  return {
    flow: flow.flow,
    serviceOf: Int32Array.from(order),
    nodeOf,
    visits: visitsOf(stages, nodeOf),
    ...stageRows(stages, nodeOf),
    callerStart: rowStarts(callers),
    caller: Int32Array.from(callers.flat()),
    droppedCalls: dropped,
  };
}

/** The calls of a route between some of the services: calls of others, and what only those reach, are left out. */
export function graphAmong(
  { flow, graph }: { readonly flow: FlowWindow; readonly graph: FlowGraph | undefined },
  { index, windows }: MeasuredCalls & { readonly index: ServiceIndex },
  isAmong: (service: string) => boolean,
): FlowGraph | undefined {
  if (namesIn(graph, index).every(isAmong)) return graph;
  const numberOf = new Map([...index.numberOf].filter(([service]) => isAmong(service)));
  return compileFlow(flow, { windows }, { names: index.names, numberOf });
}

/** Services that requests of a route wait for, callees first. A consumer of a queue takes part in traces too, and is none. */
export const namesIn = (graph: FlowGraph | undefined, { names }: ServiceIndex): string[] =>
  Array.from(graph?.serviceOf ?? [], (service) => names[service] ?? "");

/** The same graph with its services numbered as in another index, which has all of them. */
export function renumbered(graph: FlowGraph, from: ServiceIndex, to: ServiceIndex): FlowGraph {
  const serviceOf = graph.serviceOf.map((service) => to.numberOf.get(from.names[service] ?? "") ?? 0);
  const nodeOf = new Int32Array(to.names.length).fill(-1);
  for (const [node, service] of serviceOf.entries()) nodeOf[service] = node;
  return { ...graph, serviceOf, nodeOf };
}

function stageRows(
  stages: readonly (readonly Stage[])[],
  nodeOf: Int32Array,
): Pick<
  FlowGraph,
  "stageStart" | "perRequest" | "steps" | "toss" | "calleeStart" | "callee" | "calls" | "isSure"
> {
  const all = stages.flat();
  const members = all.flatMap((stage) => stage.members);
  return {
    stageStart: rowStarts(stages),
    perRequest: Float64Array.from(all, ({ perRequest }) => perRequest),
    steps: Float64Array.from(all, ({ steps }) => steps),
    toss: Float64Array.from(all, ({ toss }) => toss),
    calleeStart: rowStarts(all.map((stage) => stage.members)),
    callee: Int32Array.from(members, ({ callee }) => nodeOf[callee] ?? -1),
    calls: Float64Array.from(members, ({ calls }) => calls),
    isSure: Uint8Array.from(members, ({ isSure }) => (isSure ? 1 : 0)),
  };
}

function visitsOf(stages: readonly (readonly Stage[])[], nodeOf: Int32Array): Float64Array {
  const visits = new Float64Array(stages.length);
  if (visits.length > 0) visits[visits.length - 1] = 1;
  for (let node = visits.length - 1; node >= 0; node -= 1) {
    for (const { members, perRequest } of stages[node] ?? []) {
      for (const { callee, calls } of members) {
        const at = nodeOf[callee] ?? 0;
        visits[at] = (visits[at] ?? 0) + (visits[node] ?? 0) * perRequest * calls;
      }
    }
  }
  return visits;
}

/** A call counts as parallel when most of its instances overlapped another call of the same parent. */
const PARALLEL_FROM = 0.5;

/**
 * The calls a flow makes. Where a source cannot tell flows apart, the calls of every service that takes part stand in,
 * limited to callees that take part too.
 */
function flowCalls(flow: FlowWindow, set: MeasuredCalls, index: ServiceIndex): Map<number, Call[]> {
  const calls = new Map<number, Call[]>();
  const add = (caller: string, callee: string, callsPerRequest: number, parallelRatio: number): void => {
    const from = index.numberOf.get(caller);
    const to = index.numberOf.get(callee);
    if (from === undefined || to === undefined || from === to || !(callsPerRequest > 0)) return;
    const known = calls.get(from) ?? [];
    known.push({ callee: to, callsPerRequest, parallel: parallelRatio >= PARALLEL_FROM });
    calls.set(from, known);
  };
  if (flow.calls !== undefined) {
    for (const call of flow.calls) add(call.caller, call.callee, call.callsPerRequest, call.parallelRatio);
    return calls;
  }
  const members = new Set(flow.services);
  for (const window of set.windows) {
    if (!members.has(window.service) || !window.requestsPerSecond) continue;
    for (const edge of window.callees) {
      if (!members.has(edge.callee)) continue;
      const callsPerRequest = edge.callsPerSecond / window.requestsPerSecond;
      add(window.service, edge.callee, callsPerRequest, edge.parallelRatio);
    }
  }
  return calls;
}

/** Services reachable from the entry, callees first; calls that would close a cycle are left out. */
function topologicalOrder(
  entry: number,
  calls: ReadonlyMap<number, readonly Call[]>,
): { order: number[]; kept: Map<number, Call[]>; dropped: number } {
  const order: number[] = [];
  const kept = new Map<number, Call[]>();
  const state = new Map<number, "open" | "done">();
  const stack: { service: number; next: number }[] = [{ service: entry, next: 0 }];
  let dropped = 0;
  state.set(entry, "open");
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const call = calls.get(frame.service)?.[frame.next];
    if (call === undefined) {
      state.set(frame.service, "done");
      order.push(frame.service);
      stack.pop();
      continue;
    }
    frame.next += 1;
    if (state.get(call.callee) === "open") {
      dropped += 1;
      continue;
    }
    const own = kept.get(frame.service) ?? [];
    own.push(call);
    kept.set(frame.service, own);
    if (!state.has(call.callee)) {
      state.set(call.callee, "open");
      stack.push({ service: call.callee, next: 0 });
    }
  }
  return { order, kept, dropped };
}

/** Where each row begins among the entries of all rows, and at last where they end. */
function rowStarts(rows: readonly (readonly unknown[])[]): Int32Array {
  const start = new Int32Array(rows.length + 1);
  for (const [row, entries] of rows.entries()) start[row + 1] = (start[row] ?? 0) + entries.length;
  return start;
}
