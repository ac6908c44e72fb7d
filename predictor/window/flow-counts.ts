import type { ServiceAccumulator } from "./accumulator.ts";
import { FlowAccumulator } from "./accumulator.ts";
import { countDrop } from "./drops.ts";
import type { DropReason } from "./drops.ts";
import { StagedCalls } from "./flow-stages.ts";
import type { NameRoom } from "./name-room.ts";
import { flowName } from "./request-roles.ts";
import { CALL, NO_STAGE, NONE, STEPS } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import type { Streams } from "./streams.ts";
import { LOST } from "./trace-tree.ts";
import type { TraceTree } from "./trace-tree.ts";

/** Where flows are summed up. */
export interface FlowTarget {
  readonly arena: SpanArena;
  readonly names: NameRoom;
  readonly drops: Partial<Record<DropReason, number>>;
  readonly streams: Streams;
}

/** Sums up the flows that requests of one trace begin: their latency, their calls, and the services that took part. */
export class FlowCounts {
  private readonly tree: TraceTree;
  private readonly target: FlowTarget;
  private readonly staged = new StagedCalls();
  /** Requests of a flow still to be walked through. */
  private readonly walk: number[] = [];
  /** Requests that begin flows and were counted, with where their flow is summed up. */
  private readonly roots: number[] = [];
  private readonly rootServices: ServiceAccumulator[] = [];
  private readonly rootFlows: (FlowAccumulator | undefined)[] = [];
  /** By number of a span: which of the roots it is below, or `NONE`. */
  private rootOf: Int32Array = new Int32Array(64);

  constructor(tree: TraceTree, target: FlowTarget) {
    this.tree = tree;
    this.target = target;
  }

  /** Takes a request that begins a flow. @param sums where the flow is summed up */
  add(span: number, sums: ServiceAccumulator): void {
    this.roots.push(span);
    this.rootServices.push(sums);
  }

  /** Counts them after all requests of the trace, so that how their calls ran is known. */
  count(nowMs: number): void {
    const { rootFlows, roots, rootServices } = this;
    if (roots.length === 0) return;
    for (const [index, service] of rootServices.entries()) {
      rootFlows[index] = this.countFlow(service, roots[index] ?? 0, nowMs);
    }
    this.countServices();
    for (const list of [rootFlows, roots, rootServices]) list.length = 0;
  }

  private countFlow(entry: ServiceAccumulator, root: number, nowMs: number): FlowAccumulator | undefined {
    const { arena, drops, names, streams } = this.target;
    const slot = this.tree.slot[root] ?? 0;
    const name = flowName(arena, slot);
    const service = arena.service(slot);
    const flow = entry.flows.get(name) ?? this.newFlow(entry, service, name, nowMs);
    if (flow === undefined) {
      countDrop(drops, "flow-limit");
      return undefined;
    }
    const weight = arena.weight(slot);
    const durationNs = arena.durationNs(slot);
    flow.requests += weight;
    if (arena.error(slot) === 1) flow.errors += weight;
    flow.latency.add(durationNs);
    if (!flow.isAnswered && !streams.isLong(durationNs)) {
      flow.isAnswered = true;
      streams.answered(names.services.nameOf(service), name);
    }
    this.countCalls(flow, root, weight);
    return flow;
  }

  /** The services below each of the roots; what hangs below none of them takes part in the only flow of a trace. */
  private countServices(): void {
    const { rootFlows, roots, tree } = this;
    if (this.rootOf.length < tree.length) this.rootOf = new Int32Array(2 * tree.length);
    const { rootOf } = this;
    rootOf.fill(NONE, 0, tree.length);
    for (const [index, root] of roots.entries()) rootOf[root] = index;
    const rest = roots.length === 1 ? 0 : NONE;
    for (let rank = 0; rank < tree.placed; rank += 1) {
      const span = tree.order[rank] ?? 0;
      const parent = tree.parent[span] ?? LOST;
      if (rootOf[span] === NONE) rootOf[span] = parent < 0 ? rest : (rootOf[parent] ?? NONE);
      const root = rootOf[span] ?? NONE;
      // All spans of a request are of its service.
      if (root !== NONE && (tree.isEntry(span) || tree.request[span] === NONE))
        rootFlows[root]?.services.add(this.target.arena.service(tree.slot[span] ?? 0));
    }
  }

  /** The calls made for a flow, from its first request on, as far as somebody waited for them. */
  private countCalls(flow: FlowAccumulator, root: number, weight: number): void {
    const { staged, walk } = this;
    const { firstCall, nextCall, firstCallee, nextCallee, slot } = this.tree;
    const { arena } = this.target;
    walk[0] = root;
    for (let left = 1; left > 0;) {
      left -= 1;
      const request = walk[left] ?? 0;
      if ((firstCall[request] ?? NONE) === NONE) continue;
      const caller = flow.caller(arena.service(slot[request] ?? 0));
      for (let call = firstCall[request] ?? NONE; call !== NONE; call = nextCall[call] ?? NONE) {
        const callSlot = slot[call] ?? 0;
        const kind = arena.call(callSlot);
        if (kind === CALL.unawaited) continue;
        let isFirst = true;
        for (let span = firstCallee[call] ?? NONE; span !== NONE; span = nextCallee[span] ?? NONE) {
          const callee = arena.service(slot[span] ?? 0);
          const number = arena.stage(callSlot);
          const edge = flow.call(caller, callee);
          if (isFirst && number !== NO_STAGE)
            staged.add(edge, number & (STEPS - 1), Math.trunc(number / STEPS));
          else staged.addApart(edge);
          isFirst = false;
          const calls = Math.max(weight, arena.weight(callSlot), arena.weight(slot[span] ?? 0));
          edge.calls += calls;
          if (kind === CALL.beside) edge.parallelCalls += calls;
          walk[left] = span;
          left += 1;
        }
      }
      staged.flush(caller, weight);
    }
  }

  private newFlow(
    entry: ServiceAccumulator,
    service: number,
    name: string,
    nowMs: number,
  ): FlowAccumulator | undefined {
    if (!this.target.names.hasFlow(service, name, nowMs)) return undefined;
    const flow = new FlowAccumulator();
    entry.flows.set(name, flow);
    return flow;
  }
}
