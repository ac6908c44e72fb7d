import { z } from "zod";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { ServiceName } from "@tradewind/core/contract/quantity.ts";
import type { Interval } from "../../window/interval.ts";
import { SpanBatch } from "../../window/span.ts";
import { clockFinding, problem } from "../check.ts";
import type { Finding, PullResult, SpanSource } from "../source.ts";
import { SeenTraces } from "./seen-traces.ts";
import { searchBySplitting, tooMany } from "./split-search.ts";
import type { Slice } from "./split-search.ts";
import { readZipkinSpan } from "../otlp/read-zipkin.ts";

export const ZipkinOptions = EndpointOptions.extend({
  name: z.string().min(1).max(63).default("zipkin"),
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
type ZipkinOptions = z.infer<typeof ZipkinOptions>;

/** Zipkin searches by milliseconds; below this splitting the search helps no more. */
const MIN_SLICE_MS = 50;
/** The doctor looks for traces of so long. */
const CHECKED_MS = 900_000;

const Services = z.array(z.string());
const Traces = z.array(z.array(z.unknown()));

/** Traces of a Zipkin server, API v2. */
export class ZipkinSource implements SpanSource {
  readonly name: string;
  readonly endpoint: EndpointClient;
  readonly graceSeconds: number;
  private readonly options: ZipkinOptions;
  private readonly entries: () => readonly string[];
  private readonly seen = new SeenTraces();
  private readonly batch = new SpanBatch();

  constructor(options: ZipkinOptions, entries: () => readonly string[], settings: ClientSettings = {}) {
    const { url, basicAuth, bearerTokenFile, tls, headers, timeoutSeconds, maxAttempts, maxResponseBytes } =
      options;
    this.name = options.name;
    this.options = options;
    this.entries = entries;
    this.graceSeconds = options.graceSeconds;
    this.endpoint = new EndpointClient(
      options.name,
      "zipkin",
      { url, basicAuth, bearerTokenFile, tls, headers, timeoutSeconds, maxAttempts, maxResponseBytes },
      settings,
    );
  }

  async pull(
    interval: Interval,
    onSpans: (batch: SpanBatch) => void,
    signal?: AbortSignal,
  ): Promise<PullResult> {
    const { limit, maxRequests } = this.options;
    const found: unknown[][] = [];
    for (const service of await this.services(signal)) {
      const { results, truncated } = await searchBySplitting(
        { fromMs: interval.startMs, toMs: interval.endMs },
        { limit, minSliceMs: MIN_SLICE_MS, maxRequests },
        async (slice) => this.search(service, slice, signal),
      );
      if (truncated) throw this.endpoint.record(tooMany(this.name, interval));
      for (const trace of results) found.push(trace);
    }
    const total = { traces: 0, spans: 0, leftOut: 0 };
    for (const trace of found) {
      const spans = trace.flatMap((span) => readZipkinSpan(span) ?? []);
      const [first] = spans;
      if (first !== undefined && !this.seen.add(first.traceId)) continue;
      total.traces += first === undefined ? 0 : 1;
      total.spans += spans.length;
      total.leftOut += trace.length - spans.length;
      this.batch.clear(interval.startMs);
      for (const span of spans) this.batch.add(span);
      if (this.batch.length > 0) onSpans(this.batch);
    }
    if (total.leftOut > 0) this.endpoint.health.partialResultsTotal += 1;
    return total;
  }

  async check(nowMs: number, signal?: AbortSignal): Promise<Finding[]> {
    const subject = `zipkin ${this.name}`;
    try {
      const known = await this.listServices(signal);
      const findings: Finding[] = [
        { subject, level: "ok", message: `answers, ${known.length} services` },
        ...clockFinding(subject, this.endpoint.health),
      ];
      for (const service of this.wanted()) {
        const slice = { fromMs: nowMs - CHECKED_MS, toMs: nowMs };
        if ((await this.search(service, slice, signal)).length > 0) continue;
        findings.push({
          subject,
          level: "problem",
          message: `found no trace of '${service}' of the last 15 minutes`,
          remedy: `write the service as Zipkin shows it, for example ${known.slice(0, 3).join(", ") || "(it has none)"}`,
        });
      }
      return findings;
    } catch (error) {
      return [problem(subject, error)];
    }
  }

  async close(): Promise<void> {
    await this.endpoint.close();
  }

  private wanted(): readonly string[] {
    return this.options.services.length > 0 ? this.options.services : this.entries();
  }

  private async services(signal?: AbortSignal): Promise<readonly string[]> {
    const wanted = this.wanted();
    return wanted.length > 0 ? wanted : (await this.listServices(signal)).slice(0, 100);
  }

  private async listServices(signal?: AbortSignal): Promise<readonly string[]> {
    return this.endpoint.json({ path: "api/v2/services", query: {}, ...(signal && { signal }) }, Services);
  }

  /** Traces that have a span of the service in the slice. Both ends belong to it, in milliseconds: what two slices have is handed out once. */
  private async search(service: string, { fromMs, toMs }: Slice, signal?: AbortSignal): Promise<unknown[][]> {
    const query = {
      serviceName: service,
      endTs: String(Math.ceil(toMs)),
      lookback: String(Math.ceil(toMs) - Math.floor(fromMs)),
      limit: String(this.options.limit),
    };
    return this.endpoint.json({ path: "api/v2/traces", query, ...(signal && { signal }) }, Traces);
  }
}
