import { z } from "zod";
import { ServiceName } from "@tradewind/core/contract/quantity.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import type { Interval } from "../../window/interval.ts";
import { SpanBatch } from "../../window/span.ts";
import type { SpanRecord } from "../../window/span.ts";
import { clockFinding, problem } from "../check.ts";
import type { Finding, PullResult, SpanSource } from "../source.ts";
import { SeenTraces } from "./seen-traces.ts";
import { searchBySplitting, tooMany } from "./split-search.ts";
import type { Slice } from "./split-search.ts";

/** Options of a store that is asked for the traces of one service after the other. */
export const SearchOptions = EndpointOptions.extend({
  services: z
    .array(ServiceName)
    .max(100)
    .default([])
    .describe("Services whose traces are asked for; the application's entries when empty."),
  limit: z.number().int().min(1).max(10_000).default(500).describe("Traces per question."),
  maxRequests: z.number().int().min(1).max(1_000).default(32).describe("Questions per service and interval."),
  graceSeconds: z
    .number()
    .min(0)
    .max(600)
    .default(15)
    .describe("How long after it began a trace is complete."),
});
type SearchOptions = z.infer<typeof SearchOptions> & { readonly name: string };

/** Stores search by milliseconds or finer; below this splitting the search helps no more. */
const MIN_SLICE_MS = 50;
/** Asked for where neither the options nor the application name any. */
const MOST_SERVICES = 100;

export interface FoundTrace {
  /** Undefined for what could not be read. */
  readonly traceId: string | undefined;
  readonly spans: readonly SpanRecord[];
  readonly leftOut: number;
}

/** A store of traces that is searched by service and time. */
export abstract class ServiceSearch<Options extends SearchOptions> implements SpanSource {
  readonly name: string;
  readonly endpoint: EndpointClient;
  readonly graceSeconds: number;
  protected readonly options: Options;
  private readonly kind: string;
  private readonly entries: () => readonly string[];
  private readonly seen = new SeenTraces();
  private readonly batch = new SpanBatch();

  constructor(
    kind: string,
    options: Options,
    entries: () => readonly string[],
    settings: ClientSettings = {},
  ) {
    this.kind = kind;
    this.name = options.name;
    this.options = options;
    this.entries = entries;
    this.graceSeconds = options.graceSeconds;
    this.endpoint = new EndpointClient(options.name, kind, options, settings);
  }

  protected abstract listServices(signal?: AbortSignal): Promise<readonly string[]>;

  /** Traces that have a span of the service in the slice, which may repeat between slices. */
  protected abstract search(service: string, slice: Slice, signal?: AbortSignal): Promise<FoundTrace[]>;

  /** What the doctor finds of the wanted services, of which `known` are listed. */
  protected abstract findings(
    subject: string,
    known: readonly string[],
    nowMs: number,
    signal?: AbortSignal,
  ): Promise<Finding[]>;

  async pull(
    interval: Interval,
    onSpans: (batch: SpanBatch) => void,
    signal?: AbortSignal,
  ): Promise<PullResult> {
    const { limit, maxRequests } = this.options;
    const found: FoundTrace[] = [];
    const wanted = this.wanted();
    const services = wanted.length > 0 ? wanted : (await this.listServices(signal)).slice(0, MOST_SERVICES);
    for (const service of services) {
      const { results, truncated } = await searchBySplitting(
        { fromMs: interval.startMs, toMs: interval.endMs },
        { limit, minSliceMs: MIN_SLICE_MS, maxRequests },
        async (slice) => this.search(service, slice, signal),
      );
      if (truncated) throw this.endpoint.record(tooMany(this.name, interval));
      for (const trace of results) found.push(trace);
    }
    const total = { traces: 0, spans: 0, leftOut: 0 };
    for (const { leftOut, spans, traceId } of found) {
      if (traceId !== undefined && !this.seen.add(traceId)) continue;
      total.traces += spans.length > 0 ? 1 : 0;
      total.spans += spans.length;
      total.leftOut += leftOut;
      this.batch.clear(interval.startMs);
      for (const span of spans) this.batch.add(span);
      if (this.batch.length > 0) onSpans(this.batch);
    }
    if (total.leftOut > 0) this.endpoint.health.partialResultsTotal += 1;
    return total;
  }

  async check(nowMs: number, signal?: AbortSignal): Promise<Finding[]> {
    const subject = `${this.kind} ${this.name}`;
    try {
      const known = await this.listServices(signal);
      return [
        { subject, level: "ok", message: `answers, ${known.length} services` },
        ...clockFinding(subject, this.endpoint.health),
        ...(await this.findings(subject, known, nowMs, signal)),
      ];
    } catch (error) {
      return [problem(subject, error)];
    }
  }

  async close(): Promise<void> {
    await this.endpoint.close();
  }

  protected wanted(): readonly string[] {
    return this.options.services.length > 0 ? this.options.services : this.entries();
  }
}

/** Some names that the store knows, for a remedy. */
export const examples = (known: readonly string[]): string => known.slice(0, 3).join(", ") || "(it has none)";
