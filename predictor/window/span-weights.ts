import { MAX_ADJUSTED_COUNT } from "./limits.ts";
import type { WindowLimits } from "./limits.ts";
import { SPAN_KIND } from "./span.ts";
import type { SpanBatch } from "./span.ts";

/** Spans that make a weight up to the cap believed. */
const ENOUGH = 5;
/** Spans that make a weight above it believed, where most spans of the service carry it. */
const ENOUGH_ABOVE_CAP = 20;
/** What was seen in this and in the last stretch of so long counts. ms */
const STRETCH_MS = 300_000;
/** Weights are told apart by powers of two. */
const KINDS = 1 + Math.floor(Math.log2(MAX_ADJUSTED_COUNT));

/** Spans of one service by the weight they carry. */
class SeenWeights {
  private counts = new Float64Array(KINDS);
  private countsBefore = new Float64Array(KINDS);
  private largest = new Float64Array(KINDS);
  private largestBefore = new Float64Array(KINDS);
  private sinceMs: number;

  constructor(nowMs: number) {
    this.sinceMs = nowMs;
  }

  note(kind: number, weight: number, nowMs: number): void {
    if (nowMs - this.sinceMs >= STRETCH_MS) {
      this.countsBefore = this.counts;
      this.largestBefore = this.largest;
      this.counts = new Float64Array(KINDS);
      this.largest = new Float64Array(KINDS);
      this.sinceMs = nowMs;
    }
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    this.largest[kind] = Math.max(this.largest[kind] ?? 0, weight);
  }

  /** The largest weight of a kind that was seen; 0 when there was none. */
  largestOf(kind: number): number {
    return Math.max(this.largest[kind] ?? 0, this.largestBefore[kind] ?? 0);
  }

  /** Spans of this kind or a larger one. */
  atLeast(kind: number): number {
    let count = 0;
    for (let each = kind; each < KINDS; each += 1) {
      count += (this.counts[each] ?? 0) + (this.countsBefore[each] ?? 0);
    }
    return count;
  }
}

/**
 * Decides how many requests a sampled span may stand for. Who sends spans can say any number, so one is believed once
 * other requests of its service carry about as much (within a factor of two) or more:
 *
 * | the span says         | believed when, of the service's requests of the last five to ten minutes, … |
 * | --------------------- | --------------------------------------------------------------------------- |
 * | up to `maxSpanWeight` | 5 said so, or half of them where there are fewer than 10                    |
 * | more, up to 100,000   | 20 said so, and these are half of them or more                              |
 *
 * Otherwise the span counts for the largest weight that is believed. So head sampling at any one rate is right from the first
 * span (above `maxSpanWeight` from the 20th), and a single span of a service that is not sampled counts once.
 */
export class SpanWeights {
  /** Spans that said more than was believed. */
  clamped = 0;
  private readonly maxWeight: number;
  /** Of a span that does not say. */
  private readonly assumed: number;
  /** By number of the service. */
  private readonly seen: (SeenWeights | undefined)[] = [];

  constructor({
    assumedSamplingRatio,
    maxSpanWeight,
  }: Pick<WindowLimits, "assumedSamplingRatio" | "maxSpanWeight">) {
    this.maxWeight = maxSpanWeight;
    this.assumed = 1 / assumedSamplingRatio;
  }

  /** Puts into the batch for how many requests a span of the service counts; 0 stands for one whose span did not say. */
  weigh(batch: SpanBatch, index: number, service: number, nowMs: number): void {
    const said = batch.adjustedCount[index] ?? 0;
    const says = said >= 1;
    const kind = batch.kind[index] ?? 0;
    const isRequest = kind !== SPAN_KIND.client && kind !== SPAN_KIND.internal && kind !== SPAN_KIND.producer;
    const weight = this.believed(service, says ? said : this.assumed, isRequest, nowMs);
    batch.adjustedCount[index] = says ? weight : this.assumed === 1 ? 0 : this.assumed;
  }

  /**
   * @param said by the span, at least 1
   * @param isRequest whether the span is one that requests are counted by: only those make a weight believed
   * @returns the weight to count it with, at least 1
   */
  believed(service: number, said: number, isRequest: boolean, nowMs: number): number {
    const weight = Math.min(MAX_ADJUSTED_COUNT, said);
    const kind = weight < 2 ? 0 : Math.floor(Math.log2(weight));
    if (kind === 0 && !isRequest) return weight;
    const seen = (this.seen[service] ??= new SeenWeights(nowMs));
    if (isRequest) seen.note(kind, weight, nowMs);
    if (kind === 0) return weight;
    const total = seen.atLeast(0);
    let believed = kind;
    while (believed > 0 && !this.isBelieved(believed, seen.atLeast(believed), total)) believed -= 1;
    if (believed < kind || said > MAX_ADJUSTED_COUNT) this.clamped += 1;
    if (believed === kind) return weight;
    return seen.largestOf(believed) || Math.min(2 ** (believed + 1), this.maxWeight);
  }

  /** Forgets a service whose number is given to another one. */
  forget(service: number): void {
    this.seen[service] = undefined;
  }

  private isBelieved(kind: number, count: number, total: number): boolean {
    if (2 ** kind <= this.maxWeight) return count >= Math.min(ENOUGH, total / 2);
    return count >= ENOUGH_ABOVE_CAP && count >= total / 2;
  }
}
