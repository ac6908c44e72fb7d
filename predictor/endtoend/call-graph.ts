import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";

/** The services of an application, by number. */
export interface ServiceIndex {
  readonly names: readonly string[];
  readonly numberOf: ReadonlyMap<string, number>;
}

export function serviceIndex(names: readonly string[]): ServiceIndex {
  return { names, numberOf: new Map(names.map((name, number) => [name, number])) };
}

/**
 * The calls of one flow, as compressed rows: the calls of node `i` are `calleeStart[i]` up to `calleeStart[i + 1]`.
 * Nodes are numbered so that every callee comes before its callers; the entry is the last node.
 */
export interface FlowGraph {
  readonly flow: string;
  /** Number of the service of each node, in the application's {@link ServiceIndex}. */
  readonly serviceOf: Int32Array;
  /** Node of each service, -1 where the service takes no part. */
  readonly nodeOf: Int32Array;
  readonly calleeStart: Int32Array;
  readonly callee: Int32Array;
  /** Mean calls per request that reaches the caller. */
  readonly callsPerRequest: Float64Array;
  /** 1 where the call runs beside the node's other parallel calls, 0 where it comes one after another. */
  readonly parallel: Uint8Array;
  readonly callerStart: Int32Array;
  readonly caller: Int32Array;
  /** Calls left out because they close a cycle. */
  readonly droppedCalls: number;
}

interface Call {
  readonly callee: number;
  readonly callsPerRequest: number;
  readonly parallel: boolean;
}

/** A call counts as parallel when most of its instances overlapped another call of the same parent. */
const PARALLEL_FROM = 0.5;

/**
 * The calls a flow makes. Where a source cannot tell flows apart, the calls of every service that takes part stand in,
 * limited to callees that take part too.
 */
function flowCalls(flow: FlowWindow, set: WindowSet, index: ServiceIndex): Map<number, Call[]> {
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

function compressedRows(
  count: number,
  rows: readonly (readonly number[])[],
): { start: Int32Array; entries: Int32Array } {
  const start = new Int32Array(count + 1);
  for (let row = 0; row < count; row += 1) start[row + 1] = (start[row] ?? 0) + (rows[row]?.length ?? 0);
  return { start, entries: Int32Array.from(rows.flat()) };
}

/**
 * Compiles the calls of one flow for evaluation.
 * @returns undefined when the entry service is not in the index
 */
export function compileFlow(flow: FlowWindow, set: WindowSet, index: ServiceIndex): FlowGraph | undefined {
  const entry = index.numberOf.get(flow.entryService);
  if (entry === undefined) return undefined;
  const { order, kept, dropped } = topologicalOrder(entry, flowCalls(flow, set, index));
  const nodeOf = new Int32Array(index.names.length).fill(-1);
  for (const [node, service] of order.entries()) nodeOf[service] = node;

  const rows = order.map((service) => kept.get(service) ?? []);
  const callees = rows.map((row) => row.map(({ callee }) => nodeOf[callee] ?? -1));
  const callers: number[][] = order.map(() => []);
  for (const [node, row] of callees.entries()) for (const callee of row) callers[callee]?.push(node);

  const down = compressedRows(order.length, callees);
  const up = compressedRows(order.length, callers);
  return {
    flow: flow.flow,
    serviceOf: Int32Array.from(order),
    nodeOf,
    calleeStart: down.start,
    callee: down.entries,
    callsPerRequest: Float64Array.from(rows.flatMap((row) => row.map((call) => call.callsPerRequest))),
    parallel: Uint8Array.from(rows.flatMap((row) => row.map((call) => (call.parallel ? 1 : 0)))),
    callerStart: up.start,
    caller: up.entries,
    droppedCalls: dropped,
  };
}
