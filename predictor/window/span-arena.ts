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

/** Shares of a slot: as many 8-byte numbers, 4-byte words and bytes are in the 64 bytes that one span takes, a line of the processor's cache. */
const NUMBERS = 8;
const WORDS = 16;
const BYTES = 64;

/**
 * Memory for the spans of open traces: one buffer, in it 64 bytes for each span, slots linked into one list per trace and given
 * back together. Nothing in it is an object, so a million spans are invisible to the garbage collector, and all that is known of
 * a span comes with one access to memory.
 */
export class SpanArena {
  used = 0;
  readonly names: (string | undefined)[] = [];
  private numbers = new Float64Array(NUMBERS * INITIAL_CAPACITY);
  private words = new Int32Array(this.numbers.buffer);
  private bytes = new Uint8Array(this.numbers.buffer);
  private freeHead = NONE;
  private highWater = 0;

  /** From the builder's epoch. */
  startNs(slot: number): number {
    return this.numbers[NUMBERS * slot] ?? 0;
  }

  durationNs(slot: number): number {
    return this.numbers[NUMBERS * slot + 1] ?? 0;
  }

  weight(slot: number): number {
    return this.numbers[NUMBERS * slot + 2] ?? 0;
  }

  /** The slot after it in its list, or `NONE`. */
  next(slot: number): number {
    return this.words[WORDS * slot + 6] ?? 0;
  }

  spanHigh(slot: number): number {
    return (this.words[WORDS * slot + 7] ?? 0) >>> 0;
  }

  spanLow(slot: number): number {
    return (this.words[WORDS * slot + 8] ?? 0) >>> 0;
  }

  parentHigh(slot: number): number {
    return (this.words[WORDS * slot + 9] ?? 0) >>> 0;
  }

  parentLow(slot: number): number {
    return (this.words[WORDS * slot + 10] ?? 0) >>> 0;
  }

  /** Number of its service. */
  service(slot: number): number {
    return this.words[WORDS * slot + 11] ?? 0;
  }

  /** Of such a call: its stage among the calls of the request, plus `STEPS` times the steps of that stage; or `NO_STAGE`. */
  stage(slot: number): number {
    return this.words[WORDS * slot + 12] ?? 0;
  }

  /** Code of the pod that sent the span, see `podCode`; `NO_POD` where it is not known. */
  pod(slot: number): number {
    return this.words[WORDS * slot + 13] ?? 0;
  }

  kind(slot: number): number {
    return this.bytes[BYTES * slot + 56] ?? 0;
  }

  error(slot: number): number {
    return this.bytes[BYTES * slot + 57] ?? 0;
  }

  /** One of `COUNTED`. */
  counted(slot: number): number {
    return this.bytes[BYTES * slot + 58] ?? 0;
  }

  /** One of `CALL`, on spans that are calls, once the request that made them was counted. */
  call(slot: number): number {
    return this.bytes[BYTES * slot + 59] ?? 0;
  }

  setKind(slot: number, kind: number): void {
    this.bytes[BYTES * slot + 56] = kind;
  }

  setNext(slot: number, next: number): void {
    this.words[WORDS * slot + 6] = next;
  }

  setStage(slot: number, stage: number): void {
    this.words[WORDS * slot + 12] = stage;
  }

  setCounted(slot: number, counted: number): void {
    this.bytes[BYTES * slot + 58] = counted;
  }

  setCall(slot: number, call: number): void {
    this.bytes[BYTES * slot + 59] = call;
  }

  /** Takes in a span of a batch. @returns its slot */
  put(batch: SpanBatch, index: number, { next, pod, service, startNs }: PutSpan): number {
    const slot = this.take();
    const { bytes, numbers, words } = this;
    numbers[NUMBERS * slot] = startNs;
    numbers[NUMBERS * slot + 1] = batch.durationNs[index] ?? 0;
    numbers[NUMBERS * slot + 2] = batch.adjustedCount[index] || 1;
    words[WORDS * slot + 6] = next;
    words[WORDS * slot + 7] = batch.spanId[2 * index] ?? 0;
    words[WORDS * slot + 8] = batch.spanId[2 * index + 1] ?? 0;
    words[WORDS * slot + 9] = batch.parentId[2 * index] ?? 0;
    words[WORDS * slot + 10] = batch.parentId[2 * index + 1] ?? 0;
    words[WORDS * slot + 11] = service;
    words[WORDS * slot + 12] = NO_STAGE;
    words[WORDS * slot + 13] = pod;
    bytes[BYTES * slot + 56] = batch.kind[index] ?? 0;
    bytes[BYTES * slot + 57] = batch.error[index] ?? 0;
    bytes[BYTES * slot + 58] = COUNTED.nothing;
    bytes[BYTES * slot + 59] = CALL.alone;
    this.names[slot] = batch.names[index];
    return slot;
  }

  private take(): number {
    this.used += 1;
    if (this.freeHead !== NONE) {
      const slot = this.freeHead;
      this.freeHead = this.next(slot);
      return slot;
    }
    if (NUMBERS * this.highWater === this.numbers.length) this.grow();
    const slot = this.highWater;
    this.highWater += 1;
    return slot;
  }

  /** Adds another CLIENT span to the calls that the slot stands for; their times are put together as they come. */
  fold(slot: number, startNs: number, endNs: number, foldedUntilNs: number): void {
    const isFirst = this.kind(slot) !== DERIVED_KIND.folded;
    const firstNs = this.startNs(slot);
    const uncoveredNs = endNs <= firstNs ? endNs - startNs : endNs - Math.max(startNs, foldedUntilNs);
    this.bytes[BYTES * slot + 56] = DERIVED_KIND.folded;
    this.numbers[NUMBERS * slot] = Math.min(firstNs, startNs);
    this.numbers[NUMBERS * slot + 1] = this.durationNs(slot) + Math.max(0, uncoveredNs);
    this.numbers[NUMBERS * slot + 2] = (isFirst ? 1 : this.weight(slot)) + 1;
  }

  /** Gives back a whole list of slots. */
  release(head: number): void {
    for (let slot = head; slot !== NONE;) {
      const next = this.next(slot);
      this.names[slot] = undefined;
      this.setNext(slot, this.freeHead);
      this.freeHead = slot;
      this.used -= 1;
      slot = next;
    }
  }

  private grow(): void {
    const { numbers } = this;
    this.numbers = enlarged(numbers, new Float64Array(2 * numbers.length));
    this.words = new Int32Array(this.numbers.buffer);
    this.bytes = new Uint8Array(this.numbers.buffer);
  }
}
