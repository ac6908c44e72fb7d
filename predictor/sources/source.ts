import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { Interval } from "../window/interval.ts";
import type { ResourceView } from "../window/resources.ts";
import type { SpanBatch } from "../window/span.ts";

/** What `tradewind doctor` says about one thing it looked at. */
export interface Finding {
  readonly subject: string;
  readonly level: "ok" | "warning" | "problem";
  /** What is so. */
  readonly message: string;
  /** What to do about it; absent when nothing needs doing. */
  readonly remedy?: string;
}

interface Source {
  /** As the configuration calls it. */
  readonly name: string;
  readonly endpoint: EndpointClient;
  /** Looks at everything this source needs; never throws. */
  check(nowMs: number, signal?: AbortSignal): Promise<Finding[]>;
  close(): Promise<void>;
}

/** A source whose servers already hold rates and latencies: it forms windows itself. */
export interface WindowSource extends Source {
  /**
   * The windows of one interval that ended at least `graceSeconds` ago.
   * @throws TradewindError when nothing could be read; the interval then has no windows from this source
   */
  windows(interval: Interval, resources: ResourceView, signal?: AbortSignal): Promise<WindowSet>;
  readonly graceSeconds: number;
}

/** A source of what workloads and nodes use, for where no agent is installed. */
export interface ResourceSource extends Source {
  /** @throws TradewindError when nothing could be read */
  resources(interval: Interval, signal?: AbortSignal): Promise<ResourceView>;
}

/** A store of traces that is asked for the spans of an interval. */
export interface SpanSource extends Source {
  /**
   * Hands the spans of traces that began in the interval to `onSpans`, batch by batch; a trace seen in an earlier pull
   * is not handed out again.
   * @throws EndpointError when the interval could not be read as a whole; then nothing was handed out
   */
  pull(interval: Interval, onSpans: (batch: SpanBatch) => void, signal?: AbortSignal): Promise<PullResult>;
  readonly graceSeconds: number;
}

export interface PullResult {
  readonly traces: number;
  readonly spans: number;
  /** Spans and traces that could not be understood. */
  readonly leftOut: number;
  /** Which part of the traces the store itself lacks, in words; absent where it has all. */
  readonly missing?: string | undefined;
}
