import type { ServiceAccumulator } from "./accumulator.ts";
import { FlowAccumulator } from "./accumulator.ts";
import { CallSweep } from "./call-sweep.ts";
import { countDrop } from "./drops.ts";
import { StagedCalls } from "./flow-stages.ts";
import type { DropReason } from "./drops.ts";
import { HeadHistory } from "./head-history.ts";
import type { NameRoom } from "./name-room.ts";
import type { PendingIntervals } from "./pending-intervals.ts";
import { CALL, COUNTED, NO_POD, NO_STAGE, NONE, STEPS } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import { LOST, ROOT, TraceTree } from "./trace-tree.ts";
import type { OpenTrace } from "./trace-table.ts";

const MAX_FLOW_NAME = 200;

/** Where the requests of traces are summed up. */
export interface EvaluationTarget {
  readonly arena: SpanArena;
  readonly names: NameRoom;
  readonly intervals: PendingIntervals;
  readonly drops: Partial<Record<DropReason, number>>;
}

/** Finds the requests of traces and what they spent where, and adds them to the intervals in which they ended. */
export class TraceEvaluation {
  private readonly tree: TraceTree;
  private readonly sweep = new CallSweep();
  private readonly staged = new StagedCalls();
  private readonly heads = new HeadHistory();
  private swept: Int32Array = new Int32Array(64);
  /** Requests of a flow still to be walked through. */
  private readonly walk: number[] = [];
  /** First spans of the trace that were counted, with where their flow is summed up. */
  private readonly roots: number[] = [];
  private readonly rootServices: ServiceAccumulator[] = [];
  private readonly target: EvaluationTarget;
  private readonly nameOf: (service: number) => string;
  private nowMs = 0;

  constructor(target: EvaluationTarget, hashSeed: number) {
    this.target = target;
    this.tree = new TraceTree(hashSeed);
    this.nameOf = (service) => target.names.services.nameOf(service);
  }

  /** Forgets what is known of a service whose number is given to another one. */
  forget(service: number): void {
    this.heads.forget(service);
  }

  /** Counts the requests that ended before `beforeNs`; the trace stays open, what follows is counted later. */
  countEnded(trace: OpenTrace, beforeNs: number, nowMs: number): void {
    if (trace.isProbe) {
      trace.earliestEventNs = Infinity;
      return this.noteProbe(trace);
    }
    this.load(trace, nowMs);
    const { tree } = this;
    const { arena } = this.target;
    trace.earliestEventNs = Infinity;
    for (let span = 0; span < tree.length; span += 1) {
      const slot = tree.slot[span] ?? 0;
      const endNs = (arena.startNs[slot] ?? 0) + (arena.durationNs[slot] ?? 0);
      if (endNs < beforeNs) {
        this.countIfEntry(span);
        continue;
      }
      trace.earliestEventNs = Math.min(trace.earliestEventNs, endNs);
      if (tree.isEntry(span) && tree.dead[span] === 0) this.countBeginning(span);
    }
    this.countFlows();
  }

  /** Whether a trace without a root is likely to be still running, rather than begun by one who sends no spans. */
  awaitsRoot(trace: OpenTrace, nowMs: number): boolean {
    this.load(trace, nowMs);
    const head = this.firstHeadless();
    return head === NONE || this.heads.expectsCaller(this.serviceOf(head));
  }

  /** Counts all requests not counted yet, and what had to be left out. */
  countAll(trace: OpenTrace, nowMs: number): void {
    if (trace.isProbe) return this.noteProbe(trace);
    this.load(trace, nowMs);
    const { tree, target } = this;
    let orphans = 0;
    for (let span = 0; span < tree.length; span += 1) {
      this.countIfEntry(span);
      if (tree.dead[span] === 0 && tree.parent[span] === LOST && !tree.isEntry(span)) orphans += 1;
    }
    this.countFlows();
    if (!trace.hasRoot) this.countHeadlessFlow();
    this.noteHeads();
    if (orphans > 0) countDrop(target.drops, "orphan", orphans);
    if (tree.duplicates > 0) countDrop(target.drops, "duplicate", tree.duplicates);
    if (tree.cyclic > 0) countDrop(target.drops, "cyclic-parent", tree.cyclic);
  }

  /** Nobody's request, but it shows that the spans of its services arrive: those that have no request were asked nothing. */
  private noteProbe(trace: OpenTrace): void {
    const { arena, intervals } = this.target;
    for (let slot = trace.head; slot !== NONE; slot = arena.next[slot] ?? NONE) {
      const endNs = (arena.startNs[slot] ?? 0) + (arena.durationNs[slot] ?? 0);
      intervals.at(endNs)?.service(arena.service[slot] ?? 0);
    }
  }

  private load(trace: OpenTrace, nowMs: number): void {
    this.nowMs = nowMs;
    this.tree.load(this.target.arena, trace.head, trace.spans, this.nameOf);
  }

  private countIfEntry(span: number): void {
    const { tree, target } = this;
    const { arena } = target;
    const slot = tree.slot[span] ?? 0;
    if (!tree.isEntry(span) || tree.dead[span] === 1 || arena.counted[slot] === COUNTED.request) return;
    this.countBeginning(span);
    arena.counted[slot] = COUNTED.request;
    const startNs = arena.startNs[slot] ?? 0;
    const durationNs = arena.durationNs[slot] ?? 0;
    const interval = target.intervals.at(startNs + durationNs);
    if (interval === undefined) {
      countDrop(target.drops, "late-request");
      return;
    }
    const weight = arena.weight[slot] ?? 1;
    const service = interval.service(arena.service[slot] ?? 0);
    const coveredNs = this.sweepCalls(span, startNs, startNs + durationNs);
    const ownNs = Math.min(durationNs, Math.max(0, durationNs - coveredNs));
    service.record(durationNs, ownNs, weight, arena.error[slot] === 1);
    this.countPod(service, arena.pod[slot] ?? NO_POD, ownNs);
    this.countCalls(service, weight);
    if (tree.parent[span] !== ROOT) return;
    this.roots.push(span);
    this.rootServices.push(service);
  }

  private countPod(service: ServiceAccumulator, pod: number, ownNs: number): void {
    if (pod === NO_POD) return;
    const sketch = service.pod(pod);
    if (sketch === undefined) countDrop(this.target.drops, "pod-limit");
    else sketch.add(ownNs);
  }

  /** Once for each request by which the trace begins, ended or not. */
  private countBeginning(span: number): void {
    const { tree, target } = this;
    const { arena } = target;
    const slot = tree.slot[span] ?? 0;
    if (tree.parent[span] !== ROOT || arena.counted[slot] !== COUNTED.nothing) return;
    arena.counted[slot] = COUNTED.beginning;
    target.intervals.traceBegan(arena.startNs[slot] ?? 0, arena.service[slot] ?? 0, arena.weight[slot] ?? 1);
  }

  /** After all requests of the trace, so that how their calls ran is known. */
  private countFlows(): void {
    for (const [index, service] of this.rootServices.entries()) {
      this.countFlow(service, this.roots[index] ?? 0);
    }
    this.rootServices.length = 0;
    this.roots.length = 0;
  }

  /** @returns the time of the request spent waiting for calls, ns */
  private sweepCalls(request: number, startNs: number, endNs: number): number {
    const { tree, sweep } = this;
    const { arena } = this.target;
    sweep.clear();
    for (let call = tree.firstCall[request] ?? NONE; call !== NONE; call = tree.nextCall[call] ?? NONE) {
      const slot = tree.slot[call] ?? 0;
      const durationNs = arena.durationNs[slot] ?? 0;
      const begin = tree.calledBy[call] === call ? this.alignedStart(call) : (arena.startNs[slot] ?? 0);
      arena.call[slot] = begin > endNs ? CALL.unawaited : CALL.alone;
      const index = sweep.push(begin, begin + durationNs);
      if (index === this.swept.length) this.swept = grown(this.swept);
      this.swept[index] = call;
    }
    return sweep.length === 0 ? 0 : sweep.sweep(startNs, endNs);
  }

  /**
   * Start of a call seen only by the callee. A callee cannot start before its caller: where it seems to, the clocks
   * differ, and the call is put in the middle of the caller's span when it fits in there.
   */
  private alignedStart(callee: number): number {
    const { arena } = this.target;
    const slot = this.tree.slot[callee] ?? 0;
    const parentSlot = this.tree.slot[this.tree.parent[callee] ?? 0] ?? 0;
    const startNs = arena.startNs[slot] ?? 0;
    const parentStartNs = arena.startNs[parentSlot] ?? 0;
    const spareNs = (arena.durationNs[parentSlot] ?? 0) - (arena.durationNs[slot] ?? 0);
    return startNs < parentStartNs && spareNs >= 0 ? parentStartNs + spareNs / 2 : startNs;
  }

  private countCalls(caller: ServiceAccumulator, weight: number): void {
    const { tree, sweep } = this;
    const { arena } = this.target;
    for (let index = 0; index < sweep.length; index += 1) {
      const call = this.swept[index] ?? 0;
      const callSlot = tree.slot[call] ?? 0;
      const callNs = arena.durationNs[callSlot] ?? 0;
      if ((tree.firstCallee[call] ?? NONE) === NONE) caller.unresolvedCalls += weight;
      const isParallel = sweep.isParallel(index);
      if (isParallel && arena.call[callSlot] === CALL.alone) arena.call[callSlot] = CALL.beside;
      const stage = sweep.stageOf(index);
      arena.stage[callSlot] = stage + STEPS * sweep.stepsOf(stage);
      for (let span = tree.firstCallee[call] ?? NONE; span !== NONE; span = tree.nextCallee[span] ?? NONE) {
        const slot = tree.slot[span] ?? 0;
        const edge = caller.callee(arena.service[slot] ?? 0);
        edge.calls += weight;
        if (isParallel) edge.parallelCalls += weight;
        if (span === call) continue;
        edge.measured += 1;
        edge.transitNs += Math.max(0, callNs - (arena.durationNs[slot] ?? 0));
      }
    }
  }

  /**
   * A trace whose first span never came (its sender exports nothing) begins at its earliest entry span. This is only
   * known once the trace is quiet, when its own interval may have been built: then the next one counts the flow.
   */
  private countHeadlessFlow(): void {
    const { tree, target } = this;
    const { arena } = target;
    const head = this.firstHeadless();
    if (head === NONE) return;
    if (this.heads.expectsCaller(this.serviceOf(head))) {
      countDrop(target.drops, "lost-root");
      return;
    }
    const slot = tree.slot[head] ?? 0;
    const [service, startNs] = [arena.service[slot] ?? 0, arena.startNs[slot] ?? 0];
    // Beginnings are compared with answers: what counts as one counts as the other.
    target.intervals.answeredTraceBegan(startNs, service, arena.weight[slot] ?? 1);
    const interval = target.intervals.next(startNs + (arena.durationNs[slot] ?? 0));
    this.countFlow(interval.service(service), head);
  }

  /** The earliest entry span whose parent did not arrive. */
  private firstHeadless(): number {
    const { tree } = this;
    let first = NONE;
    for (let span = 0; span < tree.length; span += 1) {
      if (!tree.isEntry(span) || tree.dead[span] === 1 || tree.parent[span] !== LOST) continue;
      if (first === NONE || this.startsBefore(span, first)) first = span;
    }
    return first;
  }

  private noteHeads(): void {
    const { tree } = this;
    for (let span = 0; span < tree.length; span += 1) {
      const parent = tree.parent[span] ?? ROOT;
      if (parent === ROOT || tree.dead[span] === 1 || !tree.isEntry(span)) continue;
      this.heads.note(this.serviceOf(span), parent !== LOST);
    }
  }

  private serviceOf(span: number): number {
    return this.target.arena.service[this.tree.slot[span] ?? 0] ?? 0;
  }

  private startsBefore(a: number, b: number): boolean {
    const { arena } = this.target;
    const slotA = this.tree.slot[a] ?? 0;
    const slotB = this.tree.slot[b] ?? 0;
    const difference =
      (arena.startNs[slotA] ?? 0) - (arena.startNs[slotB] ?? 0) ||
      (arena.durationNs[slotB] ?? 0) - (arena.durationNs[slotA] ?? 0) ||
      (arena.spanHigh[slotA] ?? 0) - (arena.spanHigh[slotB] ?? 0) ||
      (arena.spanLow[slotA] ?? 0) - (arena.spanLow[slotB] ?? 0);
    return difference < 0;
  }

  private countFlow(entry: ServiceAccumulator, root: number): void {
    const { arena, drops } = this.target;
    const slot = this.tree.slot[root] ?? 0;
    const name = (arena.names[slot] ?? "").slice(0, MAX_FLOW_NAME) || "(unnamed)";
    const flow = entry.flows.get(name) ?? this.newFlow(entry, arena.service[slot] ?? 0, name);
    if (flow === undefined) {
      countDrop(drops, "flow-limit");
      return;
    }
    const weight = arena.weight[slot] ?? 1;
    flow.requests += weight;
    if (arena.error[slot] === 1) flow.errors += weight;
    flow.latency.add(arena.durationNs[slot] ?? 0);
    this.countFlowServices(flow);
    this.countFlowCalls(flow, root, weight);
  }

  private countFlowServices(flow: FlowAccumulator): void {
    const { tree } = this;
    for (let span = 0; span < tree.length; span += 1) {
      // All spans of a request are of its service.
      const tells = tree.isEntry(span) || tree.request[span] === NONE;
      if (tells && tree.dead[span] === 0) flow.services.add(this.serviceOf(span));
    }
  }

  /** The calls made for a flow, from its first request on, as far as somebody waited for them. */
  private countFlowCalls(flow: FlowAccumulator, root: number, weight: number): void {
    const { staged, walk } = this;
    const { firstCall, nextCall, firstCallee, nextCallee, slot } = this.tree;
    const { call: kinds, service, stage } = this.target.arena;
    walk[0] = root;
    for (let left = 1; left > 0;) {
      left -= 1;
      const request = walk[left] ?? 0;
      const caller = service[slot[request] ?? 0] ?? 0;
      for (let call = firstCall[request] ?? NONE; call !== NONE; call = nextCall[call] ?? NONE) {
        const callSlot = slot[call] ?? 0;
        const kind = kinds[callSlot];
        if (kind === CALL.unawaited) continue;
        let isFirst = true;
        for (let span = firstCallee[call] ?? NONE; span !== NONE; span = nextCallee[span] ?? NONE) {
          const callee = service[slot[span] ?? 0] ?? 0;
          const number = stage[callSlot] ?? NO_STAGE;
          const edge = flow.call(caller, callee);
          if (isFirst && number !== NO_STAGE)
            staged.add(edge, number & (STEPS - 1), Math.trunc(number / STEPS));
          else staged.addApart(edge);
          isFirst = false;
          edge.calls += weight;
          if (kind === CALL.beside) edge.parallelCalls += weight;
          walk[left] = span;
          left += 1;
        }
      }
      staged.flush(flow.stages, weight);
    }
  }

  private newFlow(entry: ServiceAccumulator, service: number, name: string): FlowAccumulator | undefined {
    if (!this.target.names.hasFlow(service, name, this.nowMs)) return undefined;
    const flow = new FlowAccumulator();
    entry.flows.set(name, flow);
    return flow;
  }
}

function grown(column: Int32Array): Int32Array {
  const wider = new Int32Array(2 * column.length);
  wider.set(column);
  return wider;
}
