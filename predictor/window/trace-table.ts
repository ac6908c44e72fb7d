import { NONE } from "./span-arena.ts";

/** A trace that waits for more spans. */
export interface OpenTrace {
  readonly key: number;
  /** First of its spans in the arena. */
  head: number;
  spans: number;
  firstArrivalMs: number;
  lastArrivalMs: number;
  /**
   * The earliest of what was not counted yet, ns from the builder's epoch: the end of a span, or the start of one without a
   * parent. Whether a window needs a look at this trace.
   */
  earliestEventNs: number;
  /** Whether a span without a parent arrived. */
  hasRoot: boolean;
  /** Whether a probe began it: every span without a parent that arrived is one of a probe. */
  isProbe: boolean;
  /** CLIENT spans beyond what it may hold are put together, by the ids of their parents; absent below that. */
  folded: Map<number, FoldedCalls> | undefined;
  /** Requests that are over are let go when it holds this many spans. */
  relieveAt: number;
  /** What is missing of it was noted, while it waits for its first span. */
  isJudged: boolean;
  /** Several requests have its id, and some of them were let go. */
  isShared: boolean;
  queue: TraceQueue;
  older: OpenTrace | undefined;
  newer: OpenTrace | undefined;
}

/** CLIENT spans of one parent as one. */
export interface FoldedCalls {
  readonly slot: number;
  endNs: number;
}

/** Traces in the order in which they were put in. */
class TraceQueue {
  oldest: OpenTrace | undefined;
  private newest: OpenTrace | undefined;

  append(trace: OpenTrace): void {
    trace.queue = this;
    trace.older = this.newest;
    trace.newer = undefined;
    if (this.newest === undefined) this.oldest = trace;
    else this.newest.newer = trace;
    this.newest = trace;
  }

  remove(trace: OpenTrace): void {
    if (trace.older === undefined) this.oldest = trace.newer;
    else trace.older.newer = trace.newer;
    if (trace.newer === undefined) this.newest = trace.older;
    else trace.newer.older = trace.older;
  }
}

/**
 * Open traces by key, and the keys of traces evaluated not long ago. Those that received a span lately are in the order
 * of their last one; those that are quiet and still lack their beginning are parked.
 */
export class TraceTable {
  private readonly traces = new Map<number, OpenTrace>();
  private active = new TraceQueue();
  private parked = new TraceQueue();
  private closed = new Map<number, number>();
  private closedBefore = new Map<number, number>();
  private rotatedMs = -Infinity;
  private readonly maxClosed: number;
  private readonly rememberMs: number;

  /** Remembers closed traces for `rememberMs` to twice that, and at most twice `maxClosed` of them. */
  constructor(maxClosed: number, rememberMs: number) {
    this.maxClosed = maxClosed;
    this.rememberMs = rememberMs;
  }

  get size(): number {
    return this.traces.size;
  }

  /** Of the traces that are not parked the one whose last span arrived first. */
  get quietest(): OpenTrace | undefined {
    return this.active.oldest;
  }

  /** The trace parked first. */
  get longestParked(): OpenTrace | undefined {
    return this.parked.oldest;
  }

  /** Those that are parked, the one that was parked first in front. */
  *parkedTraces(): Generator<OpenTrace> {
    for (let trace = this.parked.oldest; trace !== undefined; trace = trace.newer) yield trace;
  }

  get(key: number): OpenTrace | undefined {
    return this.traces.get(key);
  }

  /** When the trace was closed, ms; Infinity for that of a probe, undefined where it was not, or is forgotten. */
  closedMs(key: number): number | undefined {
    return this.closed.get(key) ?? this.closedBefore.get(key);
  }

  open(key: number, nowMs: number): OpenTrace {
    const trace: OpenTrace = {
      key,
      head: NONE,
      spans: 0,
      firstArrivalMs: nowMs,
      lastArrivalMs: nowMs,
      earliestEventNs: Infinity,
      hasRoot: false,
      isProbe: false,
      folded: undefined,
      relieveAt: 0,
      isJudged: false,
      isShared: false,
      queue: this.active,
      older: undefined,
      newer: undefined,
    };
    this.traces.set(key, trace);
    this.active.append(trace);
    return trace;
  }

  /** Notes that a span of the trace arrived. */
  touch(trace: OpenTrace, nowMs: number): void {
    trace.lastArrivalMs = nowMs;
    trace.queue.remove(trace);
    this.active.append(trace);
  }

  /** Puts a quiet trace aside until a span of it arrives. */
  park(trace: OpenTrace): void {
    trace.queue.remove(trace);
    this.parked.append(trace);
  }

  close(trace: OpenTrace, nowMs: number): void {
    this.traces.delete(trace.key);
    trace.queue.remove(trace);
    if (nowMs - this.rotatedMs >= this.rememberMs || this.closed.size >= this.maxClosed) {
      this.closedBefore = this.closed;
      this.closed = new Map();
      this.rotatedMs = nowMs;
    }
    this.closed.set(trace.key, trace.isProbe ? Infinity : nowMs);
  }

  /** Forgets every trace, open or closed. */
  clear(): void {
    this.traces.clear();
    this.active = new TraceQueue();
    this.parked = new TraceQueue();
    this.closed = new Map();
    this.closedBefore = new Map();
    this.rotatedMs = -Infinity;
  }

  values(): IterableIterator<OpenTrace> {
    return this.traces.values();
  }
}

/**
 * 53 bits of a 128-bit trace id, mixed with a seed (multiply-xorshift, murmur3's finaliser constants). Two traces of
 * a million open ones share a key with a probability of 1 in 18,000.
 */
export function traceKey(words: Uint32Array, at: number, seed: number): number {
  let low = seed | 0;
  let high = (seed ^ 0x9e3779b9) | 0;
  for (let word = at; word < at + 4; word += 1) {
    const value = words[word] ?? 0;
    low = Math.imul(low ^ value, 0x85ebca6b);
    low ^= low >>> 15;
    high = Math.imul(high ^ (value + word - at), 0xc2b2ae35);
    high ^= high >>> 13;
  }
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}
