import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { IntervalAccumulator } from "./accumulator.ts";
import { ArrivalWait } from "./arrival-wait.ts";
import type { RefusedSpans, WindowBuilderOptions, WindowBuilderTotals } from "./builder-options.ts";
import { BatchServices, FOREIGN, INVALID } from "./batch-services.ts";
import { Completeness } from "./completeness.ts";
import { CountedSpans } from "./counted-spans.ts";
import { isStreamName, RECEIVING_NAMES } from "./conventions.ts";
import { countDrop } from "./drops.ts";
import type { AddResult, ArrivalDrop, DropReason } from "./drops.ts";
import { Entries } from "./entries.ts";
import { foldCall, noteFoldable } from "./folded-calls.ts";
import { intervalAt } from "./interval.ts";
import { DEFAULT_WINDOW_LIMITS } from "./limits.ts";
import type { WindowLimits } from "./limits.ts";
import { Probes } from "./probes.ts";
import { LostSpans } from "./lost-spans.ts";
import type { SpanEvidence } from "./lost-spans.ts";
import { NameRoom } from "./name-room.ts";
import { PendingIntervals } from "./pending-intervals.ts";
import { isRequestKind } from "./request-model.ts";
import type { ResourceView } from "./resources.ts";
import { ServiceOwners, libraryKind } from "./service-owners.ts";
import { AsideTally } from "./set-aside.ts";
import type { SetAside } from "./set-aside.ts";
import { SpanArena } from "./span-arena.ts";
import { DERIVED_KIND, isZero, SPAN_KIND } from "./span.ts";
import type { SpanBatch } from "./span.ts";
import { SpanWeights } from "./span-weights.ts";
import { Streams } from "./streams.ts";
import { TraceEvaluation } from "./trace-evaluation.ts";
import { TraceTable, traceKey } from "./trace-table.ts";
import type { OpenTrace } from "./trace-table.ts";
import { windowSet } from "./window-set.ts";

const NS_PER_MS = 1e6;
const NS_PER_SECOND = 1e9;
/** Quiet traces evaluated with every batch, beside two for each of its spans: many that fell quiet at once hold nobody up. */
const CLOSED_PER_ADD = 1_000;
/** Marks of requests that were counted, for each trace that may be open. */
const COUNTED_PER_TRACE = 4;
/** A trace that holds too much is looked through again once it has grown by this factor. */
const RELIEF_GROWTH = 1.25;
/** Clocks and exporters without an end write one of 1970. ms */
const NO_END_MS = 1_000;
/** After so long a trace without its first span is more likely one that lost it than one that goes on. ms */
const PARKED_MS = 12_000;
/** Traces looked at in one step of {@link WindowBuilder.prepare}: some milliseconds. */
const TRACES_PER_STEP = 2_000;

/** Turns spans into windows: assembles traces, computes own time and the call graph, sums both up per interval. */
export class WindowBuilder {
  private readonly limits: WindowLimits;
  private readonly windowNs: number;
  private readonly windowSeconds: number;
  private readonly namespace: string;
  private readonly hashSeed: number;
  private readonly idleMs: number;
  /** Intervals that may be waited for at once; more only pile up when nobody builds. */
  private readonly maxPending: number;

  private readonly arena = new SpanArena();
  private readonly traces: TraceTable;
  private readonly names: NameRoom;
  private readonly batchServices: BatchServices;
  private readonly evaluation: TraceEvaluation;
  private readonly weights: SpanWeights;
  private readonly probes: Probes;
  private readonly intervals: PendingIntervals;
  private readonly entries: Entries;
  private readonly aside = new AsideTally();
  private lastAside: readonly SetAside[] = [];
  private readonly owners: ServiceOwners;
  private readonly streams: Streams;
  private readonly counted: CountedSpans;
  private readonly completeness = new Completeness();
  private readonly lost = new LostSpans();
  private streaming: ReadonlyMap<string, number> = new Map();
  /** Services that were asked: of those work is not counted as requests. */
  private readonly serving = new Set<number>();
  private readonly drops: Partial<Record<DropReason, number>> = {};
  /** Zero of span times: the start of the interval in which the first span arrived. */
  private epochMs: number | undefined;
  private spansAccepted = 0;
  private tracesEvaluated = 0;
  private tracesEvaluatedEarly = 0;
  private readonly wait: ArrivalWait;

  constructor(options: WindowBuilderOptions) {
    const { windowSeconds, namespace, hashSeed, knownServices, probePaths, ...rest } = options;
    const { cluster, entries, environment, pods, routes, ...limits } = rest;
    this.limits = { ...DEFAULT_WINDOW_LIMITS, ...limits };
    this.wait = new ArrivalWait(this.limits, this.completeness, (service) => {
      if (this.entries.has(service)) return true;
      return this.isOurs(service) ? false : undefined;
    });
    this.windowSeconds = windowSeconds;
    this.windowNs = windowSeconds * NS_PER_SECOND;
    this.namespace = namespace;
    this.hashSeed = hashSeed ?? 0;
    // A number may only be given to another name when nothing that is held can still refer to it.
    const { maxTraceSeconds, maxPastSeconds, maxAheadSeconds, maxGraceSeconds, traceGraceSeconds } =
      this.limits;
    const longestGraceSeconds = Math.max(traceGraceSeconds, maxGraceSeconds);
    const heldSeconds = maxTraceSeconds + maxPastSeconds + maxAheadSeconds + longestGraceSeconds;
    this.idleMs = 1e3 * Math.max(this.limits.idleSeconds, heldSeconds + 2 * windowSeconds);
    this.maxPending = Math.ceil(heldSeconds / windowSeconds) + 2;
    this.traces = new TraceTable(this.limits.maxOpenTraces, 2e3 * this.limits.traceGraceSeconds);
    this.intervals = new PendingIntervals(this.windowNs);
    this.weights = new SpanWeights(this.limits);
    this.probes = new Probes(probePaths ?? (() => undefined), 1e3 * windowSeconds);
    this.names = this.nameRoom(knownServices ?? (() => []));
    const known = knownServices ?? (() => []);
    const refreshMs = 1e3 * windowSeconds;
    this.owners = new ServiceOwners({
      namespace,
      cluster,
      environment,
      known,
      pods: pods ?? (() => []),
      refreshMs,
    });
    this.batchServices = new BatchServices(this.names, this.owners);
    this.entries = new Entries(entries ?? (() => []), this.names.services);
    this.streams = new Streams(routes ?? (() => undefined), this.limits.maxFlows);
    this.counted = new CountedSpans(COUNTED_PER_TRACE * this.limits.maxOpenTraces);
    this.evaluation = new TraceEvaluation(
      {
        arena: this.arena,
        aside: this.aside,
        completeness: this.completeness,
        counted: this.counted,
        drops: this.drops,
        entries: this.entries,
        streams: this.streams,
        intervals: this.intervals,
        isOurs: (service) => this.isOurs(service),
        names: this.names,
      },
      this.hashSeed,
    );
  }

  /**
   * Takes the spans of a batch; keeps nothing of the batch itself, but leaves in it for how many requests each span counts
   * and which are of probes.
   * Never throws on what a sender may send.
   */
  add(batch: SpanBatch, nowMs: number): AddResult {
    this.epochMs ??= intervalAt(nowMs, this.windowSeconds).startMs;
    const reasons: Partial<Record<ArrivalDrop, number>> = {};
    if (batch.invalidIds > 0) countDrop(reasons, "invalid-id", batch.invalidIds);
    this.owners.refresh(nowMs);
    this.batchServices.begin(batch);
    this.probes.refresh(nowMs);
    const shiftNs = (batch.epochMs - this.epochMs) * NS_PER_MS;
    let accepted = 0;
    for (let index = 0; index < batch.length; index += 1) {
      const refused = this.addSpan(batch, index, shiftNs, nowMs);
      if (refused === undefined) accepted += 1;
      else {
        countDrop(reasons, refused);
        batch.adjustedCount[index] = 0;
      }
    }
    if (!this.entries.isComplete) this.entries.refresh();
    this.wait.learn(nowMs);
    this.closeQuiet(nowMs, CLOSED_PER_ADD + 2 * batch.length);
    if (this.intervals.measured.size > this.maxPending) this.forget(nowMs);
    return this.result(accepted, batch.length + batch.invalidIds - accepted, reasons);
  }

  /**
   * Does most of the work of {@link build} beforehand, in steps of some milliseconds between which spans may be added. Spans
   * that come after a step are counted by `build`, as those that come after a window is built are counted by the next.
   * @param endMs end of the interval that is built next
   */
  *prepare(endMs: number, nowMs: () => number): Generator<void> {
    const { epochMs } = this;
    if (epochMs === undefined) return;
    this.entries.refresh();
    while (!this.closeQuiet(nowMs(), TRACES_PER_STEP)) yield;
    const endNs = (endMs - epochMs) * NS_PER_MS;
    let left = TRACES_PER_STEP;
    for (const trace of this.traces.values()) {
      if (left === 0) {
        yield;
        // The clock was set meanwhile: there is no such interval any more.
        if (this.epochMs !== epochMs) return;
        left = TRACES_PER_STEP;
      }
      left -= 1;
      if (trace.earliestEventNs < endNs) this.evaluation.countEnded(trace, endNs, nowMs());
    }
  }

  /**
   * The windows of one interval. Call it once per interval, in order, `traceGraceSeconds` or more after `endMs`;
   * requests that become known later are counted as `late-request`.
   * @throws RangeError when startMs and endMs are not one aligned interval of `windowSeconds`
   */
  build(startMs: number, endMs: number, resources: ResourceView, nowMs: number): WindowSet {
    const interval = intervalAt(startMs, this.windowSeconds);
    if (interval.startMs !== startMs || interval.endMs !== endMs) {
      throw new RangeError(
        `${startMs} to ${endMs} is not a window: windows are ${this.windowSeconds} s long and aligned to that`,
      );
    }
    this.entries.refresh();
    this.closeQuiet(nowMs);
    this.epochMs ??= startMs;
    const number = Math.round((startMs - this.epochMs) / (this.windowSeconds * 1e3));
    const endNs = (endMs - this.epochMs) * NS_PER_MS;
    for (const trace of this.traces.values()) {
      if (trace.earliestEventNs < endNs) this.evaluation.countEnded(trace, endNs, nowMs);
    }
    const measured = this.intervals.measured.get(number);
    const streaming = new Map<string, number>();
    for (const [service, { requests, streamNs }] of measured?.services ?? []) {
      if (requests > 0) this.serving.add(service);
      if (streamNs > 0) streaming.set(this.names.services.nameOf(service), streamNs / this.windowNs);
    }
    this.streaming = streaming;
    const set = windowSet({
      interval,
      measured,
      began: this.intervals.began.get(number),
      graceSeconds: this.graceSeconds,
      isServing: (service) => this.serving.has(service),
      missing: (service) => this.missingOf(service),
      services: this.names.services,
      pods: this.names.pods,
      resources,
      namespace: this.namespace,
      objectiveSeconds: (route) => this.streams.objectiveSeconds(route),
      onCalleesLeftOut: (count) => {
        countDrop(this.drops, "callee-limit", count);
      },
    });
    for (const trace of this.traces.parkedTraces()) {
      if (nowMs - trace.firstArrivalMs < PARKED_MS) break;
      if (!trace.isJudged) this.evaluation.judge(trace, nowMs);
    }
    const whole = this.lost.look(set, this.evidence(measured));
    this.lastAside = this.aside.take(this.windowSeconds);
    this.completeness.next();
    this.wait.learn(nowMs, this.wait.seconds - this.windowSeconds);
    if (measured !== undefined) this.entries.learn(measured);
    this.streams.refresh();
    this.intervals.built(number);
    this.names.reserveFor(resources.services.keys());
    this.forget(nowMs);
    return whole;
  }

  /** What was no request of a user in the window that was built last. */
  get setAside(): readonly SetAside[] {
    return this.lastAside;
  }

  /** Time after the end of a window in which its spans are waited for now, at least the configured grace. */
  get graceSeconds(): number {
    return this.wait.seconds;
  }

  /** What is not known for lack of a setting, in words. */
  doubts(): readonly string[] {
    return this.owners.doubts();
  }

  private isOurs(service: number): boolean {
    return this.owners.isKnown(this.names.services.nameOf(service));
  }

  private missingOf(service: number): string | undefined {
    return this.isOurs(service)
      ? this.completeness.missing(service, this.names.services.nameOf(service), this.wait.seconds)
      : undefined;
  }

  /** What came of the application's services since the last window. */
  private evidence(measured: IntervalAccumulator | undefined): ReadonlyMap<string, SpanEvidence> {
    const evidence = new Map<string, SpanEvidence>();
    for (const [name, service] of this.names.services.entries()) {
      const seen = this.owners.isKnown(name) ? this.completeness.seen(service) : undefined;
      if (seen === undefined) continue;
      const pods = new Map<string, number>();
      for (const [pod, { count }] of measured?.services.get(service)?.pods ?? [])
        pods.set(this.names.pods.nameOf(pod), count);
      const { called, callerLost, doubled, orphans, sent, spans } = seen;
      const handled = new Map(
        [...seen.handled].map(([handler, messages]) => [this.names.services.nameOf(handler), messages]),
      );
      evidence.set(name, { called, callerLost, doubled, handled, orphans, sent, spans, pods });
    }
    return evidence;
  }

  /** Forgets all spans and begins again: the clock was set, and times before and after do not go together. */
  restart(): void {
    for (const { head } of this.traces.values()) this.arena.release(head);
    this.traces.clear();
    this.intervals.clear();
    this.epochMs = undefined;
  }

  totals(): WindowBuilderTotals {
    return {
      spansAccepted: this.spansAccepted,
      tracesEvaluated: this.tracesEvaluated,
      tracesEvaluatedEarly: this.tracesEvaluatedEarly,
      drops: { ...this.drops },
      refused: this.refusedSpans(),
      streams: this.streaming,
      weightsClamped: this.weights.clamped,
      probes: { ...this.probes.counts },
      openTraces: this.traces.size,
      openSpans: this.arena.used,
      services: this.names.services.size,
      flows: this.names.flows.size,
    };
  }

  private refusedSpans(): RefusedSpans[] {
    return [...this.completeness.refusedTotals].flatMap(([service, counts]) =>
      [...counts].map(([reason, count]) => ({ service: this.names.services.nameOf(service), reason, count })),
    );
  }

  private nameRoom(known: () => Iterable<string>): NameRoom {
    const { maxFlows, maxServices } = this.limits;
    const onForgotten = (service: number): void => {
      this.evaluation.forget(service);
      this.weights.forget(service);
      this.completeness.forget(service);
      this.serving.delete(service);
    };
    const { arena, intervals, traces } = this;
    return new NameRoom({ maxServices, maxFlows, known, onForgotten }, { arena, intervals, traces });
  }

  /** @returns why the span was refused, if it was */
  private addSpan(batch: SpanBatch, index: number, shiftNs: number, nowMs: number): ArrivalDrop | undefined {
    const startNs = (batch.startNs[index] ?? 0) + shiftNs;
    const refused = this.refusal(batch, index, startNs, nowMs);
    if (refused !== undefined) return this.refuse(batch, index, refused, nowMs);
    const service = this.batchServices.of(batch, index, nowMs);
    if (service < 0) return unusable(service);
    if (this.arena.used >= this.limits.maxOpenSpans) this.closeEarly(nowMs);
    const endNs = startNs + (batch.durationNs[index] ?? 0);
    const trace = this.traceOf(batch, index, endNs, nowMs);
    if (trace === undefined) return "late";
    const isRoot = isZero(batch.parentId, 2 * index, 2);
    if (trace.spans >= this.limits.maxSpansPerTrace) {
      if (trace.spans >= trace.relieveAt) this.relieve(trace, nowMs);
      if (!isRoot && foldCall(this.arena, trace, batch, index, startNs)) return undefined;
      const isRequest = isRoot || isRequestKind(batch.kind[index] ?? 0);
      if (trace.spans >= (isRequest ? 4 : 2) * this.limits.maxSpansPerTrace)
        return this.refuse(batch, index, "trace-too-large", nowMs);
    }
    this.weights.weigh(batch, index, service, nowMs);
    if (isRoot) this.noteRoot(trace, batch, index, service);
    this.deriveKind(batch, index);
    const isRequest = isRoot || isRequestKind(batch.kind[index] ?? 0);
    this.completeness.taken(service, isRequest ? this.sinceSeconds(endNs, nowMs) : NaN);
    trace.head = this.arena.put(batch, index, {
      startNs,
      service,
      pod: this.batchServices.podOf(batch, index),
      next: trace.head,
    });
    trace.spans += 1;
    noteFoldable(trace, batch, index, endNs, this.limits.maxSpansPerTrace);
    trace.earliestEventNs = Math.min(trace.earliestEventNs, isRoot ? startNs : endNs);
    return undefined;
  }

  /** Kinds that the span's name, the application, or the process of the span, says. */
  private deriveKind(batch: SpanBatch, index: number): void {
    const kind = batch.kind[index] ?? 0;
    if (kind === SPAN_KIND.consumer && RECEIVING_NAMES.has(batch.names[index] ?? ""))
      batch.kind[index] = DERIVED_KIND.receive;
    else if (
      kind === SPAN_KIND.server &&
      this.isStream(batch.names[index] ?? "", batch.durationNs[index] ?? 0)
    )
      batch.kind[index] = DERIVED_KIND.stream;
    else if (this.batchServices.isLibrary(batch, index)) batch.kind[index] = libraryKind(kind);
  }

  private isStream(operation: string, durationNs: number): boolean {
    if (this.streams.isStream(operation)) return true;
    return isStreamName(operation, durationNs) && !this.streams.hasRule(operation);
  }

  private noteRoot(trace: OpenTrace, batch: SpanBatch, index: number, service: number): void {
    const isProbe = this.probes.take(batch, index, this.names.services.nameOf(service));
    trace.isProbe = isProbe && (trace.isProbe || !trace.hasRoot);
    trace.hasRoot = true;
  }

  /** The trace of a span, opened where it is not; undefined where the span may have been taken before. */
  private traceOf(batch: SpanBatch, index: number, endNs: number, nowMs: number): OpenTrace | undefined {
    const key = traceKey(batch.traceId, 4 * index, this.hashSeed);
    const trace = this.traces.get(key);
    if (trace === undefined) {
      if (this.isRepeated(batch, index, key, endNs)) return undefined;
      if (this.traces.size >= this.limits.maxOpenTraces) this.closeEarly(nowMs);
      return this.traces.open(key, nowMs);
    }
    if (trace.isShared && this.wasCounted(batch, index, key)) return undefined;
    this.traces.touch(trace, nowMs);
    if (!this.isExpired(trace, nowMs) || this.relieve(trace, nowMs)) return trace;
    this.close(trace, nowMs);
    return this.traces.open(key, nowMs);
  }

  private refusal(batch: SpanBatch, index: number, startNs: number, nowMs: number): ArrivalDrop | undefined {
    const { limits } = this;
    if (isZero(batch.traceId, 4 * index, 4) || isZero(batch.spanId, 2 * index, 2)) return "invalid-id";
    const durationNs = batch.durationNs[index] ?? NaN;
    if (!(durationNs >= 0)) {
      const endMs = (this.epochMs ?? 0) + (startNs + durationNs) / NS_PER_MS;
      return Math.abs(endMs) < NO_END_MS ? "unfinished" : "negative-duration";
    }
    if (durationNs > limits.maxSpanSeconds * NS_PER_SECOND) return "too-long";
    const aheadSeconds = -this.sinceSeconds(startNs + durationNs, nowMs);
    if (!(aheadSeconds >= -limits.maxPastSeconds)) return "too-old";
    return aheadSeconds > limits.maxAheadSeconds ? "too-far-ahead" : undefined;
  }

  /** Notes of which service the refused span is, where that is known. */
  private refuse(batch: SpanBatch, index: number, reason: ArrivalDrop, nowMs: number): ArrivalDrop {
    const service = this.batchServices.ofRefused(batch, index, nowMs);
    if (service >= 0) this.completeness.refused(service, reason, isRequestKind(batch.kind[index] ?? 0));
    return reason;
  }

  /** @returns seconds from a time of spans until now */
  private sinceSeconds(ns: number, nowMs: number): number {
    return (nowMs - (this.epochMs ?? nowMs)) / 1e3 - ns / NS_PER_SECOND;
  }

  /**
   * Whether a span may have been taken before, of a trace that was evaluated: a request that was counted, or what ended before the last
   * span of the trace came. All of a probe's is.
   */
  private isRepeated(batch: SpanBatch, index: number, key: number, endNs: number): boolean {
    const closedMs = this.traces.closedMs(key);
    if (closedMs === undefined || closedMs === Infinity) return closedMs === Infinity;
    const isRequest = isRequestKind(batch.kind[index] ?? 0) || isZero(batch.parentId, 2 * index, 2);
    if (isRequest) return this.wasCounted(batch, index, key);
    return endNs <= (closedMs - 1e3 * this.wait.seconds - (this.epochMs ?? 0)) * NS_PER_MS;
  }

  private wasCounted({ kind, spanId }: SpanBatch, index: number, key: number): boolean {
    return this.counted.has(key, spanId[2 * index] ?? 0, spanId[2 * index + 1] ?? 0, kind[index] ?? 0);
  }

  /**
   * Lets requests go that are over, of a trace that holds many: who repeats one trace id never ends it.
   * @returns false where it holds one request, or nothing any more
   */
  private relieve(trace: OpenTrace, nowMs: number): boolean {
    const overNs = (nowMs - (this.epochMs ?? nowMs) - 1e3 * this.wait.seconds) * NS_PER_MS;
    const isShared = !trace.isProbe && this.evaluation.countOver(trace, overNs, nowMs);
    trace.relieveAt = RELIEF_GROWTH * trace.spans;
    if (!isShared) return false;
    trace.isShared = true;
    trace.firstArrivalMs = nowMs;
    trace.folded = undefined;
    return trace.spans > 0;
  }

  /**
   * Evaluates quiet traces, at most `most` of them. One that is still running by all signs is kept until
   * `maxTraceSeconds`.
   * @returns whether those were all
   */
  private closeQuiet(nowMs: number, most = Infinity): boolean {
    const quietBeforeMs = nowMs - 1e3 * this.wait.seconds;
    let left = most;
    let trace = this.traces.quietest;
    for (; trace !== undefined && trace.lastArrivalMs <= quietBeforeMs && left > 0; left -= 1) {
      if (!this.isExpired(trace, nowMs) && !trace.hasRoot && this.evaluation.awaitsRoot(trace, nowMs)) {
        this.traces.park(trace);
      } else {
        this.close(trace, nowMs);
      }
      trace = this.traces.quietest;
    }
    let parked = this.traces.longestParked;
    for (; parked !== undefined && this.isExpired(parked, nowMs) && left > 0; left -= 1) {
      this.close(parked, nowMs);
      parked = this.traces.longestParked;
    }
    return left > 0;
  }

  private isExpired(trace: OpenTrace, nowMs: number): boolean {
    return nowMs - trace.firstArrivalMs >= 1e3 * this.limits.maxTraceSeconds;
  }

  private closeEarly(nowMs: number): void {
    const trace = this.traces.longestParked ?? this.traces.quietest;
    if (trace === undefined) return;
    this.tracesEvaluatedEarly += 1;
    this.close(trace, nowMs);
  }

  private close(trace: OpenTrace, nowMs: number): void {
    this.evaluation.countAll(trace, nowMs);
    this.arena.release(trace.head);
    this.traces.close(trace, nowMs);
    this.tracesEvaluated += 1;
  }

  /** Lets go of intervals that were built, or that nobody will ask for any more, and of idle names. */
  private forget(nowMs: number): void {
    const { maxPastSeconds, maxTraceSeconds } = this.limits;
    const heldSeconds = maxPastSeconds + maxTraceSeconds + this.windowSeconds;
    const oldest = (nowMs - (this.epochMs ?? nowMs) - 1e3 * heldSeconds) / (1e3 * this.windowSeconds);
    this.intervals.forget(oldest);
    this.names.expire(nowMs - this.idleMs);
  }

  private result(
    accepted: number,
    rejected: number,
    reasons: Partial<Record<ArrivalDrop, number>>,
  ): AddResult {
    this.spansAccepted += accepted;
    for (const [reason, count] of Object.entries(reasons))
      countDrop(this.drops, reason as ArrivalDrop, count);
    return { accepted, rejected, reasons };
  }
}

/** Why a span whose service has this number, a negative one, is refused. */
function unusable(service: number): ArrivalDrop {
  if (service === INVALID) return "invalid-service";
  return service === FOREIGN ? "no-application" : "service-limit";
}
