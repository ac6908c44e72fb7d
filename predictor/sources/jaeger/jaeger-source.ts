import { z } from "zod";
import { parseWith } from "@tradewind/core/values/config.ts";
import type { SpanRecord } from "../../window/span.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import type { Finding } from "../source.ts";
import { jsonValues, nestsDeeperThan } from "../otlp/json-depth.ts";
import { ServiceSearch, examples } from "../traces/service-search.ts";
import type { FoundTrace } from "../traces/service-search.ts";
import type { Slice } from "../traces/split-search.ts";
import { storedFindings } from "../traces/stored-findings.ts";
import { readStoredOtlp } from "../traces/stored-otlp.ts";
import type { JaegerOptions } from "./options.ts";
import { JaegerAnswer, JaegerTrace, readJaegerTrace } from "./read-v1.ts";

/** A reference nests one level per ancestor, about four brackets each; no real call chain is that deep. */
const MAX_DEPTH = 2_000;
/** For the doctor, who looks at a few of its traces. */
const LOOK_BACK_MS = 60_000;

const ServicesV1 = z.object({ data: z.array(z.string()).nullable() });
const ServicesV3 = z.object({ services: z.array(z.string()).nullish() });
/** One answer, a part of a stream of them, or what stands in place of either when the search fails. */
const AnswerV3 = z.looseObject({
  result: z.unknown().optional(),
  resourceSpans: z.array(z.unknown()).optional(),
  error: z.looseObject({ message: z.string().optional() }).optional(),
});

/** Traces of a Jaeger query service, API v1 (Jaeger's JSON) or v3 (OTLP). */
export class JaegerSource extends ServiceSearch<JaegerOptions> {
  constructor(options: JaegerOptions, entries: () => readonly string[], settings: ClientSettings = {}) {
    super("jaeger", options, entries, settings);
  }

  protected async findings(
    subject: string,
    known: readonly string[],
    nowMs: number,
    signal?: AbortSignal,
  ): Promise<Finding[]> {
    const wanted = this.wanted();
    const findings = wanted
      .filter((service) => !known.includes(service))
      .map((service): Finding => ({
        subject,
        level: "problem",
        message: `has no traces of '${service}'`,
        remedy: `write the service.name as Jaeger shows it, for example ${examples(known)}`,
      }));
    const [service] = wanted;
    if (service === undefined || !known.includes(service)) return findings;
    const found = await this.search(service, { fromMs: nowMs - LOOK_BACK_MS, toMs: nowMs }, signal);
    return [...findings, ...storedFindings(subject, found)];
  }

  protected async listServices(signal?: AbortSignal): Promise<readonly string[]> {
    const path = this.options.api === "v1" ? "api/services" : "api/v3/services";
    const value = await this.read({ path, query: {} }, signal);
    try {
      if (this.options.api === "v1") return parseWith(ServicesV1, value, "the list of services").data ?? [];
      return parseWith(ServicesV3, value, "the list of services").services ?? [];
    } catch (error) {
      throw this.endpoint.badReply(error);
    }
  }

  protected async search(service: string, slice: Slice, signal?: AbortSignal): Promise<FoundTrace[]> {
    const { limit } = this.options;
    return this.options.api === "v1"
      ? this.searchV1(service, slice, limit, signal)
      : this.searchV3(service, slice, limit, signal);
  }

  private async searchV1(
    service: string,
    slice: Slice,
    limit: number,
    signal?: AbortSignal,
  ): Promise<FoundTrace[]> {
    const query = {
      service,
      start: String(Math.round(slice.fromMs * 1_000)),
      end: String(Math.round(slice.toMs * 1_000) - 1),
      limit: String(limit),
    };
    const value = await this.read({ path: "api/traces", query }, signal);
    const answer = JaegerAnswer.safeParse(value);
    if (!answer.success) throw this.endpoint.badReply(answer.error);
    this.endpoint.health.warningsTotal += answer.data.errors?.length ?? 0;
    return (answer.data.data ?? []).map((each): FoundTrace => {
      const trace = JaegerTrace.safeParse(each);
      if (!trace.success) return { traceId: undefined, spans: [], leftOut: 1 };
      const { spans, leftOut } = readJaegerTrace(trace.data);
      return { traceId: trace.data.traceID, spans, leftOut };
    });
  }

  private async searchV3(
    service: string,
    slice: Slice,
    limit: number,
    signal?: AbortSignal,
  ): Promise<FoundTrace[]> {
    const query = {
      "query.service_name": service,
      "query.start_time_min": new Date(slice.fromMs).toISOString(),
      "query.start_time_max": new Date(slice.toMs).toISOString(),
      "query.num_traces": String(limit),
      "query.search_depth": String(limit),
    };
    const values = await this.values({ path: "api/v3/traces", query }, signal, [404]);
    const spans: SpanRecord[] = [];
    let leftOut = 0;
    for (const value of values.flat()) {
      const answer = AnswerV3.safeParse(value);
      if (!answer.success) throw this.endpoint.badReply(answer.error);
      const { error, resourceSpans, result } = answer.data;
      if (error !== undefined) throw this.refused(error.message);
      const traces = result ?? (resourceSpans === undefined ? undefined : { resourceSpans });
      if (traces === undefined && Object.keys(answer.data).length > 0) throw this.refused();
      const read = readStoredOtlp(traces ?? {});
      for (const span of read.spans) spans.push(span);
      leftOut += read.leftOut;
    }
    const byTrace = Map.groupBy(spans, ({ traceId }) => traceId);
    const traces = [...byTrace].map(([traceId, members]) => ({ traceId, spans: members, leftOut: 0 }));
    return leftOut === 0 ? traces : [...traces, { traceId: undefined, spans: [], leftOut }];
  }

  private refused(said = "no reason given"): EndpointError {
    return this.endpoint.record(
      new EndpointError(
        "bad-reply",
        `${this.name}: the answer to a search holds no traces: ${said.slice(0, 300)}`,
        "check that the url is that of a Jaeger query service with API v3, and see its log",
      ),
    );
  }

  /** The one value of an answer; an empty object where there is none. */
  private async read(
    call: { path: string; query: Record<string, string> },
    signal?: AbortSignal,
  ): Promise<unknown> {
    const [value = {}] = await this.values(call, signal);
    return value;
  }

  /** The values of an answer, which may be a stream of several; none for one of the statuses. */
  private async values(
    call: { path: string; query: Record<string, string> },
    signal?: AbortSignal,
    acceptStatuses: readonly number[] = [],
  ): Promise<unknown[]> {
    const { body, status } = await this.endpoint.call({
      ...call,
      acceptStatuses,
      ...(signal === undefined ? {} : { signal }),
    });
    if (status >= 400 || body.length === 0) return [];
    if (nestsDeeperThan(body, MAX_DEPTH)) {
      throw this.endpoint.record(
        new EndpointError(
          "bad-reply",
          `${this.name}: the answer nests deeper than ${MAX_DEPTH} levels`,
          "check that the url is that of a Jaeger query service",
        ),
      );
    }
    try {
      return jsonValues(body);
    } catch (error) {
      throw this.endpoint.badReply(error);
    }
  }
}
