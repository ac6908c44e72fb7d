import { CostMeter } from "@tradewind/core/net/cost-meter.ts";

/** What one sender may have decoded per second, on average. */
export interface SenderRateLimits {
  /** Bytes after decompression. */
  readonly maxSenderBytesPerSecond: number;
  /** Spans, valid or not. */
  readonly maxSenderSpansPerSecond: number;
  /** Share of a core that decoding may keep busy. */
  readonly maxSenderWork: number;
  /** Seconds at these rates that may come at once. */
  readonly senderBurstSeconds: number;
}

/** What a request came to. */
export interface RequestCost {
  readonly bytes: number;
  readonly spans: number;
  /** CPU time of decoding it. */
  readonly workSeconds: number;
}

/** The cost meter of OTLP: an honest sender is measured by spans and bytes, one whose bodies are dear to read by the work. */
export class SenderRates {
  readonly #limits: SenderRateLimits;
  readonly #meter: CostMeter;

  constructor(limits: SenderRateLimits) {
    this.#limits = limits;
    this.#meter = new CostMeter({ share: 1, burstSeconds: limits.senderBurstSeconds });
  }

  /** Whole seconds after which the sender may send again; undefined when it may now. */
  waitSeconds(sender: string, nowMs: number): number | undefined {
    return this.#meter.waitSeconds(sender, nowMs);
  }

  /** Takes note of a request; the dearest of bytes, spans and work counts. */
  charge(sender: string, { bytes, spans, workSeconds }: RequestCost, nowMs: number): void {
    const { maxSenderBytesPerSecond, maxSenderSpansPerSecond, maxSenderWork } = this.#limits;
    const seconds = Math.max(
      bytes / maxSenderBytesPerSecond,
      spans / maxSenderSpansPerSecond,
      workSeconds / maxSenderWork,
    );
    this.#meter.charge(sender, seconds, nowMs);
  }
}
