import { SpanBatch } from "@tradewind/predictor/window/span.ts";
import { USER_AGENT } from "@tradewind/predictor/window/user-agent.ts";
import type { SpanResource } from "@tradewind/predictor/window/span.ts";
import type { SpanFacts } from "../engine/recorder.ts";

const NS_PER_MS = 1e6;
const TRACE_WORD = 0x74726164;
const SPAN_WORD = 0x7370616e;

/** Spans on their way to the collector: batches of those that ended in the same slot of time. */
export class SpanCollector {
  private filling = new SpanBatch();
  private readonly spare: SpanBatch[] = [];
  private readonly resources: readonly SpanResource[];
  /** By service: place of its resource in the batch that is filled, or -1. */
  private readonly places: Int32Array;
  private readonly startMs: number;
  private readonly statedCount: number;
  private batchMs = 0;

  /**
   * @param startMs of the run, since the Unix epoch
   * @param statedCount requests that a span says it stands for; 0 when it does not say
   */
  constructor(services: readonly string[], startMs: number, statedCount: number) {
    this.resources = services.map((service) => ({ service }));
    this.places = new Int32Array(services.length).fill(-1);
    this.startMs = startMs;
    this.statedCount = statedCount;
    this.filling.clear(startMs);
  }

  add(span: SpanFacts): void {
    const batch = this.filling;
    const index = batch.reserve();
    const { kind, name, parent, route, trace } = span;
    batch.traceId[4 * index] = TRACE_WORD;
    batch.traceId[4 * index + 1] = route;
    batch.traceId[4 * index + 2] = trace;
    batch.traceId[4 * index + 3] = Math.imul(trace, 0x9e3779b1) >>> 0;
    batch.spanId[2 * index] = SPAN_WORD;
    batch.spanId[2 * index + 1] = span.span;
    batch.parentId[2 * index] = parent === 0 ? 0 : SPAN_WORD;
    batch.parentId[2 * index + 1] = parent;
    batch.startNs[index] = Math.round((span.startMs - this.batchMs) * NS_PER_MS);
    batch.durationNs[index] = Math.round((span.endMs - span.startMs) * NS_PER_MS);
    batch.kind[index] = kind;
    batch.error[index] = span.failed ? 1 : 0;
    batch.adjustedCount[index] = this.statedCount;
    batch.userAgent[index] = USER_AGENT.unknown;
    batch.resource[index] = this.place(span.service, batch);
    batch.names[index] = name;
  }

  /** Hands over what ended so far; what follows goes into the next batch. @param nowMs from the start of the run */
  take(nowMs: number): SpanBatch {
    const full = this.filling;
    this.filling = this.spare.pop() ?? new SpanBatch();
    this.batchMs = Math.floor(nowMs);
    this.filling.clear(this.startMs + this.batchMs);
    this.places.fill(-1);
    return full;
  }

  /** The batch is not needed any more. */
  giveBack(batch: SpanBatch): void {
    this.spare.push(batch);
  }

  private place(service: number, batch: SpanBatch): number {
    const known = this.places[service] ?? -1;
    if (known !== -1) return known;
    const place = batch.resources.length;
    this.places[service] = place;
    const resource = this.resources[service];
    if (resource !== undefined) batch.resources.push(resource);
    return place;
  }
}
