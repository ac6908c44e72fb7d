import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { BatchServices, INVALID } from "./batch-services.ts";
import { countDrop } from "./drops.ts";
import type { AddResult, ArrivalDrop, DropReason } from "./drops.ts";
import { intervalAt } from "./interval.ts";
import { DEFAULT_WINDOW_LIMITS } from "./limits.ts";
import type { WindowLimits } from "./limits.ts";
import { Probes } from "./probes.ts";
import type { ProbePaths } from "./probes.ts";
import { NameRoom } from "./name-room.ts";
import { PendingIntervals } from "./pending-intervals.ts";
import type { ResourceView } from "./resources.ts";
import { NONE, SpanArena } from "./span-arena.ts";
import { isZero } from "./span.ts";
import type { SpanBatch } from "./span.ts";
import { SpanWeights } from "./span-weights.ts";
import { TraceEvaluation } from "./trace-evaluation.ts";
import { TraceTable, traceKey } from "./trace-table.ts";
import type { OpenTrace } from "./trace-table.ts";
import { windowSet } from "./window-set.ts";

export interface WindowBuilderOptions extends Partial<WindowLimits> {
  /** Length of a window; windows are aligned to multiples of it since the epoch. */
  readonly windowSeconds: number;
  /** Namespace of services that the resource view does not know. */
  readonly namespace: string;
  /** Any 32-bit number, secret from senders: keeps them from choosing ids that collide in the hash tables. */
  readonly hashSeed?: number;
  /** Latency objective; requests over it are counted. Undefined while there is none. */
  readonly objectiveSeconds?: () => number | undefined;
  /** Services that are known before spans or workloads name them; asked when names run short. */
  readonly knownServices?: () => Iterable<string>;
  /** Paths of probes; absent: probes are known by their user agent alone. */
  readonly probePaths?: ProbePaths;
}

/** What a builder has done since it was made. */
export interface WindowBuilderTotals {
  readonly spansAccepted: number;
  readonly tracesEvaluated: number;
  /** Traces evaluated before their grace was over, for lack of room. */
  readonly tracesEvaluatedEarly: number;
  readonly drops: Readonly<Partial<Record<DropReason, number>>>;
  /** Spans that said they stand for more requests than was believed. */
  readonly weightsClamped: number;
  /** Spans taken for probes of a kubelet, by what gave them away. */
  readonly probes: Readonly<Probes["counts"]>;
  /** Held now. */
  readonly openTraces: number;
  readonly openSpans: number;
  readonly services: number;
  readonly flows: number;
}

const NS_PER_MS = 1e6;
const NS_PER_SECOND = 1e9;
/** Quiet traces evaluated with every batch, beside two for each of its spans: many that fell quiet at once hold nobody up. */
const CLOSED_PER_ADD = 1_000;
/** Traces looked at in one step of {@link WindowBuilder.prepare}: some milliseconds. */
const TRACES_PER_STEP = 2_000;

/** Turns spans into windows: assembles traces, computes own time and the call graph, sums both up per interval. */
export class WindowBuilder {
  private readonly limits: WindowLimits;
  private readonly windowNs: number;
  private readonly windowSeconds: number;
  private readonly namespace: string;
  private readonly hashSeed: number;
  private readonly objectiveSeconds: () => number | undefined;
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
  private readonly drops: Partial<Record<DropReason, number>> = {};
  /** Zero of span times: the start of the interval in which the first span arrived. */
  private epochMs: number | undefined;
  private spansAccepted = 0;
  private tracesEvaluated = 0;
  private tracesEvaluatedEarly = 0;

  constructor(options: WindowBuilderOptions) {
    const { windowSeconds, namespace, hashSeed, knownServices, objectiveSeconds, probePaths, ...limits } =
      options;
    this.objectiveSeconds = objectiveSeconds ?? (() => undefined);
    this.limits = { ...DEFAULT_WINDOW_LIMITS, ...limits };
    this.windowSeconds = windowSeconds;
    this.windowNs = windowSeconds * NS_PER_SECOND;
    this.namespace = namespace;
    this.hashSeed = hashSeed ?? 0;
    // A number may only be given to another name when nothing that is held can still refer to it.
    const { maxTraceSeconds, maxPastSeconds, maxAheadSeconds, traceGraceSeconds } = this.limits;
    const heldSeconds = maxTraceSeconds + maxPastSeconds + maxAheadSeconds + traceGraceSeconds;
    this.idleMs = 1e3 * Math.max(this.limits.idleSeconds, heldSeconds + 2 * windowSeconds);
    this.maxPending = Math.ceil(heldSeconds / windowSeconds) + 2;
    this.traces = new TraceTable(this.limits.maxOpenTraces, 2e3 * this.limits.traceGraceSeconds);
    this.intervals = new PendingIntervals(this.windowNs);
    this.weights = new SpanWeights(this.limits);
    this.probes = new Probes(probePaths ?? (() => undefined), 1e3 * windowSeconds);
    this.names = this.nameRoom(knownServices ?? (() => []));
    this.batchServices = new BatchServices(this.names);
    this.evaluation = new TraceEvaluation(
      {
        arena: this.arena,
        drops: this.drops,
        intervals: this.intervals,
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
    this.closeQuiet(nowMs);
    this.epochMs ??= startMs;
    const number = Math.round((startMs - this.epochMs) / (this.windowSeconds * 1e3));
    const endNs = (endMs - this.epochMs) * NS_PER_MS;
    for (const trace of this.traces.values()) {
      if (trace.earliestEventNs < endNs) this.evaluation.countEnded(trace, endNs, nowMs);
    }
    const set = windowSet({
      interval,
      measured: this.intervals.measured.get(number),
      began: this.intervals.began.get(number),
      graceSeconds: this.limits.traceGraceSeconds,
      services: this.names.services,
      pods: this.names.pods,
      resources,
      namespace: this.namespace,
      objectiveSeconds: this.objectiveSeconds(),
      onCalleesLeftOut: (count) => {
        countDrop(this.drops, "callee-limit", count);
      },
    });
    this.intervals.built(number);
    this.names.reserveFor(resources.services.keys());
    this.forget(nowMs);
    return set;
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
      weightsClamped: this.weights.clamped,
      probes: { ...this.probes.counts },
      openTraces: this.traces.size,
      openSpans: this.arena.used,
      services: this.names.services.size,
      flows: this.names.flows.size,
    };
  }

  private nameRoom(known: () => Iterable<string>): NameRoom {
    const { maxFlows, maxServices } = this.limits;
    const onForgotten = (service: number): void => {
      this.evaluation.forget(service);
      this.weights.forget(service);
    };
    const { arena, intervals, traces } = this;
    return new NameRoom({ maxServices, maxFlows, known, onForgotten }, { arena, intervals, traces });
  }

  /** @returns why the span was refused, if it was */
  private addSpan(batch: SpanBatch, index: number, shiftNs: number, nowMs: number): ArrivalDrop | undefined {
    const startNs = (batch.startNs[index] ?? 0) + shiftNs;
    const refused = this.refusal(batch, index, startNs, nowMs);
    if (refused !== undefined) return refused;
    const service = this.batchServices.of(batch, index, nowMs);
    if (service === INVALID) return "invalid-service";
    if (service === NONE) return "service-limit";
    if (this.arena.used >= this.limits.maxOpenSpans) this.closeEarly(nowMs);
    const key = traceKey(batch.traceId, 4 * index, this.hashSeed);
    let trace = this.traces.get(key);
    if (trace === undefined) {
      if (this.traces.wasClosed(key)) return "late";
      if (this.traces.size >= this.limits.maxOpenTraces) this.closeEarly(nowMs);
      trace = this.traces.open(key, nowMs);
    } else if (trace.spans >= this.limits.maxSpansPerTrace) {
      return "trace-too-large";
    } else {
      this.traces.touch(trace, nowMs);
    }
    this.weights.weigh(batch, index, service, nowMs);
    const isRoot = isZero(batch.parentId, 2 * index, 2);
    if (isRoot) {
      const isProbe = this.probes.take(batch, index, this.names.services.nameOf(service));
      trace.isProbe = isProbe && (trace.isProbe || !trace.hasRoot);
      trace.hasRoot = true;
    }
    trace.head = this.arena.put(batch, index, {
      startNs,
      service,
      pod: this.batchServices.podOf(batch, index),
      next: trace.head,
    });
    trace.spans += 1;
    const eventNs = isRoot ? startNs : startNs + (batch.durationNs[index] ?? 0);
    trace.earliestEventNs = Math.min(trace.earliestEventNs, eventNs);
    if (this.isExpired(trace, nowMs)) this.close(trace, nowMs);
    return undefined;
  }

  private refusal(batch: SpanBatch, index: number, startNs: number, nowMs: number): ArrivalDrop | undefined {
    const { limits } = this;
    if (isZero(batch.traceId, 4 * index, 4) || isZero(batch.spanId, 2 * index, 2)) return "invalid-id";
    const durationNs = batch.durationNs[index] ?? NaN;
    if (!(durationNs >= 0)) return "negative-duration";
    if (durationNs > limits.maxSpanSeconds * NS_PER_SECOND) return "too-long";
    const aheadSeconds = (startNs + durationNs) / NS_PER_SECOND - (nowMs - (this.epochMs ?? nowMs)) / 1e3;
    if (!(aheadSeconds >= -limits.maxPastSeconds)) return "too-old";
    return aheadSeconds > limits.maxAheadSeconds ? "too-far-ahead" : undefined;
  }

  /**
   * Evaluates quiet traces, at most `most` of them. One that is still running by all signs is kept until
   * `maxTraceSeconds`.
   * @returns whether those were all
   */
  private closeQuiet(nowMs: number, most = Infinity): boolean {
    const quietBeforeMs = nowMs - 1e3 * this.limits.traceGraceSeconds;
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
