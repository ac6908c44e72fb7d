import { z } from "zod";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { readZipkinSpan } from "../otlp/read-zipkin.ts";
import type { Finding } from "../source.ts";
import { SearchOptions, ServiceSearch, examples } from "./service-search.ts";
import type { FoundTrace } from "./service-search.ts";
import type { Slice } from "./split-search.ts";

export const ZipkinOptions = SearchOptions.extend({
  name: z.string().min(1).max(63).default("zipkin"),
});
type ZipkinOptions = z.infer<typeof ZipkinOptions>;

/** The doctor looks for traces of so long. */
const CHECKED_MS = 900_000;

const Services = z.array(z.string());
const Traces = z.array(z.array(z.unknown()));

/** Traces of a Zipkin server, API v2. */
export class ZipkinSource extends ServiceSearch<ZipkinOptions> {
  constructor(options: ZipkinOptions, entries: () => readonly string[], settings: ClientSettings = {}) {
    super("zipkin", options, entries, settings);
  }

  protected async findings(
    subject: string,
    known: readonly string[],
    nowMs: number,
    signal?: AbortSignal,
  ): Promise<Finding[]> {
    const findings: Finding[] = [];
    for (const service of this.wanted()) {
      const slice = { fromMs: nowMs - CHECKED_MS, toMs: nowMs };
      if ((await this.search(service, slice, signal)).length > 0) continue;
      findings.push({
        subject,
        level: "problem",
        message: `found no trace of '${service}' of the last 15 minutes`,
        remedy: `write the service as Zipkin shows it, for example ${examples(known)}`,
      });
    }
    return findings;
  }

  protected async listServices(signal?: AbortSignal): Promise<readonly string[]> {
    return this.endpoint.json({ path: "api/v2/services", query: {}, ...(signal && { signal }) }, Services);
  }

  /** Both ends belong to the slice, in milliseconds: what two slices have is handed out once. */
  protected async search(
    service: string,
    { fromMs, toMs }: Slice,
    signal?: AbortSignal,
  ): Promise<FoundTrace[]> {
    const query = {
      serviceName: service,
      endTs: String(Math.ceil(toMs)),
      lookback: String(Math.ceil(toMs) - Math.floor(fromMs)),
      limit: String(this.options.limit),
    };
    const call = { path: "api/v2/traces", query, ...(signal && { signal }) };
    return (await this.endpoint.json(call, Traces)).map((trace) => {
      const spans = trace.flatMap((span) => readZipkinSpan(span) ?? []);
      return { traceId: spans[0]?.traceId, spans, leftOut: trace.length - spans.length };
    });
  }
}
