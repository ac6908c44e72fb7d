import type { ServiceAccumulator } from "./accumulator.ts";
import type { Completeness } from "./completeness.ts";
import type { CountedSpans } from "./counted-spans.ts";
import { countDrop } from "./drops.ts";
import type { DropReason } from "./drops.ts";
import type { Entries } from "./entries.ts";
import { FlowCounts } from "./flow-counts.ts";
import { HeadHistory } from "./head-history.ts";
import type { NameRoom } from "./name-room.ts";
import type { PendingIntervals } from "./pending-intervals.ts";
import { RequestCalls } from "./request-calls.ts";
import { flowName, RequestRoles } from "./request-roles.ts";
import { COUNTED, NONE } from "./span-arena.ts";
import type { SpanArena } from "./span-arena.ts";
import { apart, isServer, podNumber } from "./request-model.ts";
import { SPAN_KIND } from "./span.ts";
import type { AsideClass, AsideTally } from "./set-aside.ts";
import type { Streams } from "./streams.ts";
import type { OpenTrace } from "./trace-table.ts";
import { LOST, ROOT, TraceTree } from "./trace-tree.ts";

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
  private readonly roles: RequestRoles;
  private readonly calls: RequestCalls;
  private readonly flows: FlowCounts;
  private readonly heads = new HeadHistory();
  /** By number of a span: the outermost span above it. */
  private topOf: Int32Array = new Int32Array(64);
  private traceKey = 0;
  private readonly target: EvaluationTarget;
  private readonly nameOf: (service: number) => string;
  private nowMs = 0;

  constructor(target: EvaluationTarget, hashSeed: number) {
    this.target = target;
    this.tree = new TraceTree(hashSeed, target.isOurs);
    this.nameOf = (service) => target.names.services.nameOf(service);
    this.roles = new RequestRoles(this.tree, { ...target, nameOf: this.nameOf });
    this.calls = new RequestCalls(this.tree, target.arena, this.roles);
    this.flows = new FlowCounts(this.tree, target);
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
    this.flows.count(this.nowMs);
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
    this.flows.count(this.nowMs);
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
    if (this.topOf.length < tree.length) this.topOf = new Int32Array(2 * tree.length);
    const { topOf } = this;
    let tops = 0;
    for (let rank = 0; rank < tree.placed; rank += 1) {
      const span = tree.order[rank] ?? 0;
      const parent = tree.parent[span] ?? LOST;
      topOf[span] = parent < 0 ? span : (topOf[parent] ?? NONE);
      if (parent < 0 && tree.isEntry(span)) tops += 1;
    }
    if (tops < 2) return false;
    const isOver = (span: number): boolean => {
      const slot = tree.slot[tree.dead[span] === 1 ? span : (topOf[span] ?? span)] ?? 0;
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
    this.flows.count(this.nowMs);
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
    this.roles.begin(trace.spans);
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
      if (this.roles.isWorkAt(span)) return;
      target.completeness.late(number);
      countDrop(target.drops, "late-request");
      return;
    }
    const service = interval.service(number);
    if (this.roles.isStream(span)) {
      service.streamNs += arena.weight(slot) * arena.durationNs(slot);
      if (this.roles.beginsFlow(span)) this.noteAside("stream", slot);
      this.calls.sweepCalls(span);
      this.calls.countCalls(service, service.apart, arena.weight(slot));
    } else {
      const isWorkHere = this.roles.isWorkAt(span);
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
    const ownNs = Math.min(durationNs, Math.max(0, durationNs - this.calls.sweepCalls(span)));
    const isError = arena.error(slot) === 1;
    if (!sums.record(durationNs, ownNs, weight, isError, podNumber(arena.pod(slot))))
      countDrop(this.target.drops, "pod-limit");
    this.calls.countCalls(service, sums, weight);
    if (!this.roles.beginsFlow(span)) return;
    this.flows.add(span, sums);
  }

  /** Once for each request that begins a flow, ended or not. */
  private countBeginning(span: number): void {
    const { tree, target } = this;
    const { arena } = target;
    const slot = tree.slot[span] ?? 0;
    if (isServer(arena.kind(slot))) target.entries.noteAsked(arena.service(slot));
    if (arena.counted(slot) !== COUNTED.nothing || !this.roles.beginsFlow(span) || this.roles.isStream(span))
      return;
    arena.setCounted(slot, COUNTED.beginning);
    const service = arena.service(slot);
    const startNs = arena.startNs(slot);
    target.intervals.traceBegan(
      startNs,
      this.roles.isWorkAt(span) ? apart(service) : service,
      arena.weight(slot),
    );
  }

  /**
   * A trace whose first span never came (its sender exports nothing) begins at its earliest entry span. This is only
   * known once the trace is quiet, when its own interval may have been built: then the next one counts the flow.
   */
  private countHeadlessFlow(): void {
    const { tree, target } = this;
    const { arena } = target;
    const head = this.firstHeadless();
    if (head === NONE || this.roles.beginsFlow(head)) return;
    if (this.heads.expectsCaller(this.serviceOf(head))) {
      countDrop(target.drops, "lost-root");
      return;
    }
    const slot = tree.slot[head] ?? 0;
    const [service, startNs] = [arena.service(slot), arena.startNs(slot)];
    // Beginnings are compared with answers: what counts as one counts as the other.
    target.intervals.answeredTraceBegan(startNs, service, arena.weight(slot));
    const interval = target.intervals.next(startNs + arena.durationNs(slot));
    this.flows.add(head, interval.service(service));
    this.flows.count(this.nowMs);
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
      if (parent !== LOST && entries.has(service)) entries.noteCaller(this.roles.isCalledFromInside(span));
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
}
