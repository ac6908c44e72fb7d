import { DERIVED_KIND, enlarged } from "./span.ts";
import type { SpanBatch } from "./span.ts";

const INITIAL_CAPACITY = 4_096;

/** The end of a linked list of slots. */
export const NONE = -1;

/** How a request waited for a call: alone, beside another one, or not at all since it had ended before. */
export const CALL = { alone: 0, beside: 1, unawaited: 2 } as const;

/** The number of no stage: the request that made the call was not counted. */
export const NO_STAGE = -1;

/** More than a request can have stages. */
export const STEPS = 2 ** 14;

/** The number of no pod. */
export const NO_POD = -1;

/** What has been counted of a request: nothing, that it began, or all of it. */
export const COUNTED = { nothing: 0, beginning: 1, request: 2 } as const;

/** What is known of a span besides what its batch says. */
interface PutSpan {
  /** From the builder's epoch. */
  readonly startNs: number;
  /** Number of its service. */
  readonly service: number;
  /** Slot of the span of its trace that was put in before, or `NONE`. */
  readonly next: number;
  /** Code of the pod that sent it, `NO_POD` where it is not known. */
  readonly pod: number;
}

/**
 * Memory for the spans of open traces: one typed array per field, slots linked into one list per trace and given back
 * together. Nothing in it is an object, so a million spans are invisible to the garbage collector.
 */
export class SpanArena {
  used = 0;
  next = new Int32Array(INITIAL_CAPACITY);
  spanHigh = new Uint32Array(INITIAL_CAPACITY);
  spanLow = new Uint32Array(INITIAL_CAPACITY);
  parentHigh = new Uint32Array(INITIAL_CAPACITY);
  parentLow = new Uint32Array(INITIAL_CAPACITY);
  service = new Uint32Array(INITIAL_CAPACITY);
  /** From the builder's epoch. */
  startNs = new Float64Array(INITIAL_CAPACITY);
  durationNs = new Float64Array(INITIAL_CAPACITY);
  weight = new Float64Array(INITIAL_CAPACITY);
  kind = new Uint8Array(INITIAL_CAPACITY);
  error = new Uint8Array(INITIAL_CAPACITY);
  /** One of `COUNTED`. */
  counted = new Uint8Array(INITIAL_CAPACITY);
  /** One of `CALL`, on spans that are calls, once the request that made them was counted. */
  call = new Uint8Array(INITIAL_CAPACITY);
  /** Of such a call: its stage among the calls of the request, plus `STEPS` times the steps of that stage; or `NO_STAGE`. */
  stage = new Int32Array(INITIAL_CAPACITY);
  /** Code of the pod that sent the span, see `podCode`; `NO_POD` where it is not known. */
  pod = new Int32Array(INITIAL_CAPACITY);
  readonly names: (string | undefined)[] = [];
  private freeHead = NONE;
  private highWater = 0;

  /** Takes in a span of a batch. @returns its slot */
  put(batch: SpanBatch, index: number, { next, pod, service, startNs }: PutSpan): number {
    const slot = this.take();
    this.next[slot] = next;
    this.spanHigh[slot] = batch.spanId[2 * index] ?? 0;
    this.spanLow[slot] = batch.spanId[2 * index + 1] ?? 0;
    this.parentHigh[slot] = batch.parentId[2 * index] ?? 0;
    this.parentLow[slot] = batch.parentId[2 * index + 1] ?? 0;
    this.service[slot] = service;
    this.startNs[slot] = startNs;
    this.durationNs[slot] = batch.durationNs[index] ?? 0;
    this.weight[slot] = batch.adjustedCount[index] || 1;
    this.kind[slot] = batch.kind[index] ?? 0;
    this.error[slot] = batch.error[index] ?? 0;
    this.counted[slot] = COUNTED.nothing;
    this.call[slot] = CALL.alone;
    this.stage[slot] = NO_STAGE;
    this.pod[slot] = pod;
    this.names[slot] = batch.names[index];
    return slot;
  }

  private take(): number {
    this.used += 1;
    if (this.freeHead !== NONE) {
      const slot = this.freeHead;
      this.freeHead = this.next[slot] ?? NONE;
      return slot;
    }
    if (this.highWater === this.next.length) this.grow();
    const slot = this.highWater;
    this.highWater += 1;
    return slot;
  }

  /** Adds another CLIENT span to the calls that the slot stands for; their times are put together as they come. */
  fold(slot: number, startNs: number, endNs: number, foldedUntilNs: number): void {
    const isFirst = this.kind[slot] !== DERIVED_KIND.folded;
    this.kind[slot] = DERIVED_KIND.folded;
    this.weight[slot] = (isFirst ? 1 : (this.weight[slot] ?? 1)) + 1;
    const firstNs = this.startNs[slot] ?? 0;
    const uncoveredNs = endNs <= firstNs ? endNs - startNs : endNs - Math.max(startNs, foldedUntilNs);
    this.durationNs[slot] = (this.durationNs[slot] ?? 0) + Math.max(0, uncoveredNs);
    this.startNs[slot] = Math.min(firstNs, startNs);
  }

  /** Gives back a whole list of slots. */
  release(head: number): void {
    for (let slot = head; slot !== NONE;) {
      const next = this.next[slot] ?? NONE;
      this.names[slot] = undefined;
      this.next[slot] = this.freeHead;
      this.freeHead = slot;
      this.used -= 1;
      slot = next;
    }
  }

  private grow(): void {
    const capacity = 2 * this.next.length;
    this.next = enlarged(this.next, new Int32Array(capacity));
    this.spanHigh = enlarged(this.spanHigh, new Uint32Array(capacity));
    this.spanLow = enlarged(this.spanLow, new Uint32Array(capacity));
    this.parentHigh = enlarged(this.parentHigh, new Uint32Array(capacity));
    this.parentLow = enlarged(this.parentLow, new Uint32Array(capacity));
    this.service = enlarged(this.service, new Uint32Array(capacity));
    this.startNs = enlarged(this.startNs, new Float64Array(capacity));
    this.durationNs = enlarged(this.durationNs, new Float64Array(capacity));
    this.weight = enlarged(this.weight, new Float64Array(capacity));
    this.kind = enlarged(this.kind, new Uint8Array(capacity));
    this.error = enlarged(this.error, new Uint8Array(capacity));
    this.counted = enlarged(this.counted, new Uint8Array(capacity));
    this.call = enlarged(this.call, new Uint8Array(capacity));
    this.stage = enlarged(this.stage, new Int32Array(capacity));
    this.pod = enlarged(this.pod, new Int32Array(capacity));
  }
}
