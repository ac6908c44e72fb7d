import { MAX_ADJUSTED_COUNT } from "./limits.ts";
import { SPAN_KIND, ownerOf } from "./span.ts";
import type { SpanBatch } from "./span.ts";
import { USER_AGENT } from "./user-agent.ts";

export interface ArrivalCounterOptions {
  /** The services that are counted; asked for each batch, since an application may be configured anew. */
  readonly services: () => readonly string[];
  /** Length of a slot of time, ms. */
  readonly slotMs: number;
  /** How far back requests are counted, ms. */
  readonly keepMs: number;
}

/** Requests that began within some time. */
export interface Arrivals {
  /** Spans that tell of them. */
  readonly spans: number;
  /** Requests that those stand for: more where traces are sampled. */
  readonly requests: number;
}

const NS_PER_MS = 1e6;

/**
 * Counts the requests to services by when they began, as soon as their spans arrive: a window knows of them only after
 * its end and the grace for late spans. A request that has not been answered yet has not been counted yet, so a count can
 * only be too small, the more so the later it is.
 */
export class ArrivalCounter {
  readonly slotMs: number;
  private readonly services: () => readonly string[];
  /** A ring: a slot of time is counted at its number modulo the length. */
  private readonly numbers: Float64Array;
  private readonly spans: Float64Array;
  private readonly requests: Float64Array;

  constructor({ services, slotMs, keepMs }: ArrivalCounterOptions) {
    const slots = Math.ceil(keepMs / slotMs) + 1;
    this.services = services;
    this.slotMs = slotMs;
    this.numbers = new Float64Array(slots).fill(-1);
    this.spans = new Float64Array(slots);
    this.requests = new Float64Array(slots);
  }

  /** Takes the SERVER and CONSUMER spans of the services but polls, streams and probes; those that begin after `nowMs`, or too long before, tell nothing. */
  add(batch: SpanBatch, nowMs: number): void {
    const services = this.services();
    const isOf = batch.resources.map((resource) => services.includes(ownerOf(resource)));
    if (!isOf.includes(true)) return;
    const oldest = Math.floor(nowMs / this.slotMs) - this.numbers.length + 1;
    for (let index = 0; index < batch.length; index += 1) {
      const kind = batch.kind[index];
      if (isOf[batch.resource[index] ?? -1] !== true) continue;
      if (kind !== SPAN_KIND.server && kind !== SPAN_KIND.consumer) continue;
      if (batch.userAgent[index] === USER_AGENT.checker) continue;
      const startMs = batch.epochMs + (batch.startNs[index] ?? NaN) / NS_PER_MS;
      const number = Math.floor(startMs / this.slotMs);
      if (startMs <= nowMs && number >= oldest) this.count(number, batch.adjustedCount[index] ?? 0);
    }
  }

  /** Requests that began in [fromMs, toMs); slots that lie in it in part do not count. */
  between(fromMs: number, toMs: number): Arrivals {
    let spans = 0;
    let requests = 0;
    const end = Math.floor(toMs / this.slotMs);
    for (let number = Math.ceil(fromMs / this.slotMs); number < end; number += 1) {
      const at = number % this.numbers.length;
      if (this.numbers[at] !== number) continue;
      spans += this.spans[at] ?? 0;
      requests += this.requests[at] ?? 0;
    }
    return { spans, requests };
  }

  /** Forgets all that was counted. */
  clear(): void {
    this.numbers.fill(-1);
  }

  private count(number: number, adjustedCount: number): void {
    const at = number % this.numbers.length;
    if (this.numbers[at] !== number) {
      this.numbers[at] = number;
      this.spans[at] = 0;
      this.requests[at] = 0;
    }
    this.spans[at] = (this.spans[at] ?? 0) + 1;
    const stood = adjustedCount >= 1 && adjustedCount <= MAX_ADJUSTED_COUNT ? adjustedCount : 1;
    this.requests[at] = (this.requests[at] ?? 0) + stood;
  }
}
