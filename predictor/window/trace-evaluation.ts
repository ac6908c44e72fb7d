import type { ServiceAccumulator } from "./accumulator.ts";
import { FlowAccumulator } from "./accumulator.ts";
import { CallSweep } from "./call-sweep.ts";
import type { Completeness } from "./completeness.ts";
import type { CountedSpans } from "./counted-spans.ts";
import { countDrop } from "./drops.ts";
import type { DropReason } from "./drops.ts";
import type { Entries } from "./entries.ts";
import { StagedCalls } from "./flow-stages.ts";
import { HeadHistory } from "./head-history.ts";
import type { NameRoom } from "./name-room.ts";
import type { PendingIntervals } from "./pending-intervals.ts";
import { CALL, COUNTED, NO_STAGE, NONE, STEPS } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import { apart, isCall, isServer, isWork, podNumber } from "./request-model.ts";
import { DERIVED_KIND, SPAN_KIND } from "./span.ts";
import type { AsideClass, AsideTally } from "./set-aside.ts";
import type { Streams } from "./streams.ts";
import type { OpenTrace } from "./trace-table.ts";
import { LOST, ROOT, TraceTree } from "./trace-tree.ts";

const MAX_FLOW_NAME = 200;

/** Whether a long request is one of a stream: as its caller is, unless it begins a flow. */
const VERDICT = { asCaller: 0, request: 1, stream: 2 } as const;

/** Where the requests of traces are summed up. */
export interface EvaluationTarget {
  readonly arena: SpanArena;
  readonly names: NameRoom;
  readonly intervals: PendingIntervals;
  readonly drops: Partial<Record<DropReason, number>>;
  readonly aside: AsideTally;
  readonly entries: Entries;
  readonly streams: Streams;
  readonly counted: CountedSpans;
  readonly completeness: Completeness;
  /** Whether a workload of the application has the service. */
  readonly isOurs: (service: number) => boolean;
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
  /** Requests that begin flows and were counted, with where their flow is summed up. */
  private readonly roots: number[] = [];
  private readonly rootServices: ServiceAccumulator[] = [];
  private readonly rootFlows: (FlowAccumulator | undefined)[] = [];
  /** By number of a span: which of the roots it is below, or `NONE`. */
  private rootOf: Int32Array = new Int32Array(64);
  /** By number of a span: one of `VERDICT`, for long requests that begin no flow once they were asked about. */
  private verdicts = new Uint8Array(64);
  private traceKey = 0;
  private readonly target: EvaluationTarget;
  private readonly nameOf: (service: number) => string;
  private nowMs = 0;

  constructor(target: EvaluationTarget, hashSeed: number) {
    this.target = target;
    this.tree = new TraceTree(hashSeed, target.isOurs);
    this.nameOf = (service) => target.names.services.nameOf(service);
  }

  /** Forgets what is known of a service whose number is given to another one. */
  forget(service: number): void {
    this.heads.forget(service);
    this.target.entries.forget(service);
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
      const endNs = arena.startNs(slot) + arena.durationNs(slot);
      if (endNs < beforeNs) {
        this.countIfEntry(span);
        continue;
      }
      trace.earliestEventNs = Math.min(trace.earliestEventNs, endNs);
      if (tree.isEntry(span) && tree.dead[span] === 0) this.countBeginning(span);
    }
    this.countFlows();
  }

  /** Notes what is missing of a trace whose first span does not come, though it is kept in case it does. */
  judge(trace: OpenTrace, nowMs: number): void {
    this.load(trace, nowMs);
    this.noteCallers(trace, false);
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
    for (let span = 0; span < tree.length; span += 1) this.countIfEntry(span);
    this.countFlows();
    if (!trace.hasRoot) this.countHeadlessFlow();
    const orphans = this.noteCallers(trace, true);
    if (orphans > 0) countDrop(target.drops, "orphan", orphans);
    if (tree.duplicates > 0) countDrop(target.drops, "duplicate", tree.duplicates);
    if (tree.cyclic > 0) countDrop(target.drops, "cyclic-parent", tree.cyclic);
  }

  /**
   * Counts what ended before `beforeNs`, of a trace of several requests that nothing else in it is above, and gives its spans back.
   * @returns false where the trace is one request, which is left as it is
   */
  countOver(trace: OpenTrace, beforeNs: number, nowMs: number): boolean {
    this.load(trace, nowMs);
    const { tree, target } = this;
    const { arena } = target;
    if (this.rootOf.length < tree.length) this.rootOf = new Int32Array(2 * tree.length);
    const { rootOf } = this;
    let tops = 0;
    for (let rank = 0; rank < tree.placed; rank += 1) {
      const span = tree.order[rank] ?? 0;
      const parent = tree.parent[span] ?? LOST;
      rootOf[span] = parent < 0 ? span : (rootOf[parent] ?? NONE);
      if (parent < 0 && tree.isEntry(span)) tops += 1;
    }
    if (tops < 2) return false;
    const isOver = (span: number): boolean => {
      const slot = tree.slot[tree.dead[span] === 1 ? span : (rootOf[span] ?? span)] ?? 0;
      return arena.startNs(slot) + arena.durationNs(slot) < beforeNs;
    };
    let over = NONE;
    trace.head = NONE;
    trace.spans = 0;
    trace.earliestEventNs = Infinity;
    const overSpans = Array.from({ length: tree.length }, (_, span) => isOver(span));
    for (const [span, isSpanOver] of overSpans.entries()) {
      const slot = tree.slot[span] ?? 0;
      if (isSpanOver) {
        if (tree.dead[span] === 1) countDrop(target.drops, "duplicate");
        this.countIfEntry(span);
        arena.setNext(slot, over);
        over = slot;
        continue;
      }
      arena.setNext(slot, trace.head);
      trace.head = slot;
      trace.spans += 1;
      trace.earliestEventNs = Math.min(trace.earliestEventNs, arena.startNs(slot));
    }
    this.countFlows();
    arena.release(over);
    return true;
  }

  /** Nobody's request, but it shows that the spans of its services arrive: those that have no request were asked nothing. */
  private noteProbe(trace: OpenTrace): void {
    const { arena, intervals } = this.target;
    for (let slot = trace.head; slot !== NONE; slot = arena.next(slot)) {
      const endNs = arena.startNs(slot) + arena.durationNs(slot);
      intervals.at(endNs)?.service(arena.service(slot));
      const isRoot = arena.parentHigh(slot) === 0 && arena.parentLow(slot) === 0;
      if (arena.counted(slot) === COUNTED.request || !isRoot) continue;
      arena.setCounted(slot, COUNTED.request);
      this.noteAside("probe", slot);
    }
  }

  private load(trace: OpenTrace, nowMs: number): void {
    this.nowMs = nowMs;
    this.traceKey = trace.key;
    this.tree.load(this.target.arena, trace.head, trace.spans, this.nameOf);
    if (this.verdicts.length < trace.spans) this.verdicts = new Uint8Array(2 * trace.spans);
    else this.verdicts.fill(VERDICT.asCaller, 0, trace.spans);
  }

  private countIfEntry(span: number): void {
    const { tree, target } = this;
    const { arena } = target;
    const slot = tree.slot[span] ?? 0;
    if (!tree.isEntry(span) || tree.dead[span] === 1 || arena.counted(slot) === COUNTED.request) return;
    this.countBeginning(span);
    arena.setCounted(slot, COUNTED.request);
    const high = arena.spanHigh(slot);
    target.counted.add(this.traceKey, high, arena.spanLow(slot), arena.kind(slot));
    const interval = target.intervals.at(arena.startNs(slot) + arena.durationNs(slot));
    const number = arena.service(slot);
    if (interval === undefined) {
      if (this.isWorkAt(span)) return;
      target.completeness.late(number);
      countDrop(target.drops, "late-request");
      return;
    }
    const service = interval.service(number);
    if (this.isStream(span)) {
      service.streamNs += arena.weight(slot) * arena.durationNs(slot);
      if (this.beginsFlow(span)) this.noteAside("stream", slot);
      this.sweepCalls(span);
      this.countCalls(service, service.apart, arena.weight(slot));
    } else {
      const isWorkHere = this.isWorkAt(span);
      if (isWorkHere) this.noteAside("work", slot);
      this.countRequest(span, service, isWorkHere ? service.apart : service);
    }
  }

  private noteAside(as: AsideClass, slot: number): void {
    const { arena, aside } = this.target;
    const service = this.nameOf(arena.service(slot));
    const noted = { class: as, service, operation: flowName(arena, slot) };
    aside.note(noted, arena.durationNs(slot), arena.weight(slot));
  }

  /** @param sums where the request counts: the service's, or what is kept apart from them */
  private countRequest(span: number, service: ServiceAccumulator, sums: ServiceAccumulator): void {
    const { arena } = this.target;
    const slot = this.tree.slot[span] ?? 0;
    const weight = arena.weight(slot);
    const durationNs = arena.durationNs(slot);
    const ownNs = Math.min(durationNs, Math.max(0, durationNs - this.sweepCalls(span)));
    const isError = arena.error(slot) === 1;
    if (!sums.record(durationNs, ownNs, weight, isError, podNumber(arena.pod(slot))))
      countDrop(this.target.drops, "pod-limit");
    this.countCalls(service, sums, weight);
    if (!this.beginsFlow(span)) return;
    this.roots.push(span);
    this.rootServices.push(sums);
  }

  /** Whether a request is work of its service that nobody asked for. */
  private isWorkAt(span: number): boolean {
    const { parent, slot } = this.tree;
    return parent[span] === ROOT && isWork(this.target.arena.kind(slot[span] ?? 0));
  }

  /** Whether a request is one of a stream; a long one that a stream calls, or a CLIENT span without a parent, is one as well. */
  private isStream(span: number): boolean {
    const { arena, streams } = this.target;
    const slot = this.tree.slot[span] ?? 0;
    if (!streams.isLong(arena.durationNs(slot))) return arena.kind(slot) === DERIVED_KIND.stream;
    if (this.isWorkAt(span)) return false;
    let request = span;
    let verdict = this.verdictOf(request);
    while (verdict === VERDICT.asCaller) {
      request = this.callerOf(request);
      verdict = request === NONE ? VERDICT.request : this.verdictOf(request);
    }
    for (let below = span; below !== request; below = this.callerOf(below)) this.verdicts[below] = verdict;
    return verdict === VERDICT.stream;
  }

  /** One of `VERDICT` for a long request or for the caller of one. */
  private verdictOf(request: number): number {
    const { arena, streams } = this.target;
    const slot = this.tree.slot[request] ?? 0;
    const kind = arena.kind(slot);
    if (kind === DERIVED_KIND.stream) return VERDICT.stream;
    if (this.isWorkAt(request)) return isCall(kind) ? VERDICT.stream : VERDICT.request;
    if (!streams.isLong(arena.durationNs(slot))) return VERDICT.request;
    const verdict = this.verdicts[request] ?? VERDICT.asCaller;
    if (verdict !== VERDICT.asCaller || !this.beginsFlow(request)) return verdict;
    const isStreaming = streams.isStreaming(
      this.nameOf(arena.service(slot)),
      flowName(arena, slot),
      arena.error(slot) === 1,
    );
    return isStreaming ? VERDICT.stream : VERDICT.request;
  }

  /** The request whose span a request is below, or `NONE`. */
  private callerOf(span: number): number {
    const parent = this.tree.parent[span] ?? LOST;
    return parent < 0 ? NONE : (this.tree.request[parent] ?? NONE);
  }

  /** A trace begins with it, or a request of an entry whose caller is outside of the application. */
  private beginsFlow(span: number): boolean {
    const { arena, entries } = this.target;
    const { parent, slot } = this.tree;
    if (parent[span] === ROOT) return !this.isJobOfEntry(span);
    if (!entries.has(this.serviceOf(span)) || !isServer(arena.kind(slot[span] ?? 0))) return false;
    if (parent[span] === LOST) return !entries.areCallersInside;
    return !this.isCalledFromInside(span);
  }

  /** A message that an entry handles in a trace of its own, where users ask it otherwise. */
  private isJobOfEntry(span: number): boolean {
    const slot = this.tree.slot[span] ?? 0;
    const { arena, entries } = this.target;
    return arena.kind(slot) === SPAN_KIND.consumer && entries.isAskedOtherwise(arena.service(slot));
  }

  /** Whether one of the requests above it is of a service inside of the application. */
  private isCalledFromInside(span: number): boolean {
    const { parent, request } = this.tree;
    for (let above = parent[span] ?? LOST; above >= 0;) {
      const service = this.serviceOf(above);
      if (this.target.entries.isInside(service)) return true;
      const caller = request[above] ?? NONE;
      if (caller !== NONE && this.handlesMessage(caller) && this.target.isOurs(service)) return true;
      above = caller === NONE ? LOST : (parent[caller] ?? LOST);
    }
    return false;
  }

  private handlesMessage(request: number): boolean {
    return this.target.arena.kind(this.tree.slot[request] ?? 0) === SPAN_KIND.consumer;
  }

  /** Once for each request that begins a flow, ended or not. */
  private countBeginning(span: number): void {
    const { tree, target } = this;
    const { arena } = target;
    const slot = tree.slot[span] ?? 0;
    if (isServer(arena.kind(slot))) target.entries.noteAsked(arena.service(slot));
    if (arena.counted(slot) !== COUNTED.nothing || !this.beginsFlow(span) || this.isStream(span)) return;
    arena.setCounted(slot, COUNTED.beginning);
    const service = arena.service(slot);
    const startNs = arena.startNs(slot);
    target.intervals.traceBegan(startNs, this.isWorkAt(span) ? apart(service) : service, arena.weight(slot));
  }

  /** After all requests of the trace, so that how their calls ran is known. */
  private countFlows(): void {
    const { rootFlows, roots, rootServices } = this;
    if (roots.length === 0) return;
    for (const [index, service] of rootServices.entries()) {
      rootFlows[index] = this.countFlow(service, roots[index] ?? 0);
    }
    this.countFlowServices();
    for (const list of [rootFlows, roots, rootServices]) list.length = 0;
  }

  /** @returns the time of the request spent waiting for calls, ns */
  private sweepCalls(request: number): number {
    const { tree, sweep } = this;
    const { arena } = this.target;
    const startNs = arena.startNs(tree.slot[request] ?? 0);
    const endNs = startNs + arena.durationNs(tree.slot[request] ?? 0);
    sweep.clear();
    for (let call = tree.firstCall[request] ?? NONE; call !== NONE; call = tree.nextCall[call] ?? NONE) {
      const slot = tree.slot[call] ?? 0;
      if (arena.kind(slot) === DERIVED_KIND.library && tree.firstCallee[call] === NONE) continue;
      const durationNs = arena.durationNs(slot);
      const begin = tree.calledBy[call] === call ? this.alignedStart(call) : arena.startNs(slot);
      arena.setCall(slot, begin > endNs ? CALL.unawaited : CALL.alone);
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
    const startNs = arena.startNs(slot);
    const parentStartNs = arena.startNs(parentSlot);
    const spareNs = arena.durationNs(parentSlot) - arena.durationNs(slot);
    return startNs < parentStartNs && spareNs >= 0 ? parentStartNs + spareNs / 2 : startNs;
  }

  /** @param sums where calls that nobody answered count */
  private countCalls(caller: ServiceAccumulator, sums: ServiceAccumulator, weight: number): void {
    const { tree, sweep } = this;
    const { arena } = this.target;
    for (let index = 0; index < sweep.length; index += 1) {
      const call = this.swept[index] ?? 0;
      const callSlot = tree.slot[call] ?? 0;
      const callNs = arena.durationNs(callSlot);
      if ((tree.firstCallee[call] ?? NONE) === NONE)
        sums.unresolvedCalls += weight * callsOf(arena, callSlot);
      const isParallel = sweep.isParallel(index);
      if (isParallel && arena.call(callSlot) === CALL.alone) arena.setCall(callSlot, CALL.beside);
      const stage = sweep.stageOf(index);
      arena.setStage(callSlot, stage + STEPS * sweep.stepsOf(stage));
      for (let span = tree.firstCallee[call] ?? NONE; span !== NONE; span = tree.nextCallee[span] ?? NONE) {
        const slot = tree.slot[span] ?? 0;
        if (this.isStream(span)) continue;
        const edge = caller.callee(arena.service(slot));
        // Where the two are sampled at different rates, both are seen at the lower one.
        const calls = Math.max(weight, arena.weight(slot));
        edge.calls += calls;
        if (isParallel) edge.parallelCalls += calls;
        if (span === call) continue;
        edge.measured += 1;
        edge.transitNs += Math.max(0, callNs - arena.durationNs(slot));
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
    if (head === NONE || this.beginsFlow(head)) return;
    if (this.heads.expectsCaller(this.serviceOf(head))) {
      countDrop(target.drops, "lost-root");
      return;
    }
    const slot = tree.slot[head] ?? 0;
    const [service, startNs] = [arena.service(slot), arena.startNs(slot)];
    // Beginnings are compared with answers: what counts as one counts as the other.
    target.intervals.answeredTraceBegan(startNs, service, arena.weight(slot));
    const interval = target.intervals.next(startNs + arena.durationNs(slot));
    this.roots.push(head);
    this.rootServices.push(interval.service(service));
    this.countFlows();
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

  /**
   * Notes which requests came with their callers, and once what that tells of lost spans.
   * @param isOver whether no more of the trace is waited for
   * @returns spans within a request of which no span came
   */
  private noteCallers(trace: OpenTrace, isOver: boolean): number {
    const { tree } = this;
    const { completeness, entries } = this.target;
    const { isJudged } = trace;
    trace.isJudged = true;
    let orphans = 0;
    for (let span = 0; span < tree.length; span += 1) {
      const parent = tree.parent[span] ?? ROOT;
      if (tree.dead[span] === 1) continue;
      const service = this.serviceOf(span);
      if (!isJudged) this.noteMessage(span, service);
      if (parent === ROOT) continue;
      if (!tree.isEntry(span)) {
        if (parent !== LOST || tree.request[span] !== NONE) continue;
        orphans += 1;
        if (!isJudged) completeness.orphan(service);
        continue;
      }
      if (!isJudged) completeness.called(service, parent !== LOST);
      if (!isOver) continue;
      this.heads.note(service, parent !== LOST);
      if (parent !== LOST && entries.has(service)) entries.noteCaller(this.isCalledFromInside(span));
    }
    if (!isJudged) for (const span of tree.doubles) completeness.doubled(this.serviceOf(span));
    return orphans;
  }

  /** Notes a message that was sent, or handled below the span that sent it. */
  private noteMessage(span: number, service: number): void {
    const { arena, completeness } = this.target;
    const slot = this.tree.slot[span] ?? 0;
    if (arena.kind(slot) === SPAN_KIND.producer) completeness.sent(service);
    const parent = this.tree.isEntry(span) ? (this.tree.parent[span] ?? ROOT) : ROOT;
    const sentSlot = parent < 0 ? NONE : (this.tree.slot[parent] ?? NONE);
    if (sentSlot === NONE || arena.kind(sentSlot) !== SPAN_KIND.producer) return;
    completeness.handled(arena.service(sentSlot), service, arena.startNs(slot) - arena.startNs(sentSlot));
  }

  private serviceOf(span: number): number {
    return this.target.arena.service(this.tree.slot[span] ?? 0);
  }

  private startsBefore(a: number, b: number): boolean {
    const { arena } = this.target;
    const slotA = this.tree.slot[a] ?? 0;
    const slotB = this.tree.slot[b] ?? 0;
    const difference =
      arena.startNs(slotA) - arena.startNs(slotB) ||
      arena.durationNs(slotB) - arena.durationNs(slotA) ||
      arena.spanHigh(slotA) - arena.spanHigh(slotB) ||
      arena.spanLow(slotA) - arena.spanLow(slotB);
    return difference < 0;
  }

  private countFlow(entry: ServiceAccumulator, root: number): FlowAccumulator | undefined {
    const { arena, drops, streams } = this.target;
    const slot = this.tree.slot[root] ?? 0;
    const name = flowName(arena, slot);
    const service = arena.service(slot);
    const flow = entry.flows.get(name) ?? this.newFlow(entry, service, name);
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
      streams.answered(this.nameOf(service), name);
    }
    this.countFlowCalls(flow, root, weight);
    return flow;
  }

  /** The services below each of the roots; what hangs below none of them takes part in the only flow of a trace. */
  private countFlowServices(): void {
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
        rootFlows[root]?.services.add(this.serviceOf(span));
    }
  }

  /** The calls made for a flow, from its first request on, as far as somebody waited for them. */
  private countFlowCalls(flow: FlowAccumulator, root: number, weight: number): void {
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

  private newFlow(entry: ServiceAccumulator, service: number, name: string): FlowAccumulator | undefined {
    if (!this.target.names.hasFlow(service, name, this.nowMs)) return undefined;
    const flow = new FlowAccumulator();
    entry.flows.set(name, flow);
    return flow;
  }
}

function flowName(arena: SpanArena, slot: number): string {
  return (arena.names[slot] ?? "").slice(0, MAX_FLOW_NAME) || "(unnamed)";
}

/** Calls that a span stands for. */
function callsOf(arena: SpanArena, slot: number): number {
  return arena.kind(slot) === DERIVED_KIND.folded ? arena.weight(slot) : 1;
}

function grown(column: Int32Array): Int32Array {
  const wider = new Int32Array(2 * column.length);
  wider.set(column);
  return wider;
}
