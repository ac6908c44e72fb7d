import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { AddResult, DropReason } from "./drops.ts";
import type { WindowLimits } from "./limits.ts";
import type { ResourceView } from "./resources.ts";
import type { SpanBatch } from "./span.ts";

export interface WindowBuilderOptions extends Partial<WindowLimits> {
  /** Length of a window; windows are aligned to multiples of it since the epoch. */
  readonly windowSeconds: number;
  /** Namespace of services that the resource view does not know. */
  readonly namespace: string;
  /** Any 32-bit number, secret from senders: keeps them from choosing trace ids that collide in the trace table. */
  readonly hashSeed?: number;
}

/** What a builder has done since it was made. */
export interface WindowBuilderTotals {
  readonly spansAccepted: number;
  readonly tracesEvaluated: number;
  /** Traces evaluated before their grace was over, for lack of room. */
  readonly tracesEvaluatedEarly: number;
  readonly drops: Readonly<Partial<Record<DropReason, number>>>;
  /** Held now. */
  readonly openTraces: number;
  readonly openSpans: number;
  readonly services: number;
  readonly flows: number;
}

/** Turns spans into windows: assembles traces, computes own time and the call graph, sums both up per interval. */
export class WindowBuilder {
  constructor(_options: WindowBuilderOptions) {}

  /** Takes the spans of a batch; keeps nothing of the batch itself. Never throws on what a sender may send. */
  add(_batch: SpanBatch, _nowMs: number): AddResult {
    throw new Error("WindowBuilder.add is not there yet");
  }

  /**
   * The windows of one interval. Call it once per interval, in order, `traceGraceSeconds` or more after `endMs`;
   * requests that become known later are counted as `late-request`.
   * @throws RangeError when startMs and endMs are not one aligned interval of `windowSeconds`
   */
  build(_startMs: number, _endMs: number, _resources: ResourceView, _nowMs: number): WindowSet {
    throw new Error("WindowBuilder.build is not there yet");
  }

  totals(): WindowBuilderTotals {
    throw new Error("WindowBuilder.totals is not there yet");
  }
}
