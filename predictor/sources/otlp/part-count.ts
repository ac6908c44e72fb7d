import { TradewindError } from "@tradewind/core/values/errors.ts";

/** What one request may hold at most, whatever its size in bytes. */
export interface PartLimits {
  readonly maxSpans: number;
  /** Spans, groups of spans by resource and by scope, and resource attributes, all together. */
  readonly maxParts: number;
  /** Fields or values that are passed over, as those of span attributes. */
  readonly maxSkipped: number;
}

/** Fields that are passed over in a request whatever it holds, and for each of its spans: an attribute takes three. At most `maxSkipped`. */
const FREE_SKIPS = 50_000;
const SKIPS_PER_SPAN = 400;

/** Counts what a decoder reads: a small body of many small parts must not cost more than its sender may spend. */
export class PartCount {
  private readonly limits: PartLimits;
  private spans = 0;
  private parts = 0;
  private skips = 0;
  /** Fields that may be passed over with as many spans. */
  private mostSkips = 0;

  constructor(limits: PartLimits) {
    this.limits = limits;
    this.clear();
  }

  clear(): void {
    this.spans = 0;
    this.parts = 0;
    this.skips = 0;
    this.mostSkips = Math.min(this.limits.maxSkipped, FREE_SKIPS);
  }

  /** Counts one more part. @throws TradewindError `too-many-spans` */
  part(): void {
    this.parts += 1;
    if (this.parts > this.limits.maxParts) {
      throw tooMany(`${this.limits.maxParts} spans, groups and resource attributes`);
    }
  }

  /** Counts one more span, valid or not. @throws TradewindError `too-many-spans` */
  span(): void {
    this.spans += 1;
    if (this.spans > this.limits.maxSpans) throw tooMany(`${this.limits.maxSpans} spans`);
    this.mostSkips = Math.min(this.limits.maxSkipped, this.mostSkips + SKIPS_PER_SPAN);
    this.part();
  }

  /** Counts one more field that is passed over. @throws TradewindError `too-many-spans` */
  skipped(): void {
    this.skips += 1;
    if (this.skips > this.mostSkips) throw tooMany(`${this.mostSkips} fields`);
  }
}

const tooMany = (what: string): TradewindError =>
  new TradewindError("too-many-spans", `the request holds more than ${what}; send smaller batches`);

/** A decoder offers to pause after so many bytes. At most 8,000 parts fit in them. */
export const BYTES_PER_PAUSE = 16_384;
