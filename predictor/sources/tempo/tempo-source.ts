import { bulkhead } from "cockatiel";
import type { BulkheadPolicy } from "cockatiel";
import { z } from "zod";
import type { Interval } from "../../window/interval.ts";
import { SpanBatch } from "../../window/span.ts";
import type { SpanRecord } from "../../window/span.ts";
import { clockFinding, problem } from "../check.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import type { Finding, PullResult, SpanSource } from "../source.ts";
import { SeenTraces } from "../traces/seen-traces.ts";
import { searchBySplitting, tooMany } from "../traces/split-search.ts";
import type { Slice } from "../traces/split-search.ts";
import { storedFindings } from "../traces/stored-findings.ts";
import { readStoredOtlp } from "../traces/stored-otlp.ts";
import type { ReadSpans } from "../traces/stored-otlp.ts";
import type { TempoOptions } from "./options.ts";

/** Tempo searches by whole seconds. */
const MIN_SLICE_MS = 1_000;

const SearchAnswer = z.object({
  traces: z.array(z.looseObject({ traceID: z.string().max(64) })).nullish(),
});
/** Status as protobuf's JSON form has it, by name or by number; complete where it is absent. */
const TraceV2 = z.object({
  trace: z.unknown().optional(),
  status: z.union([z.string(), z.number()]).nullish(),
});
const PARTIAL: ReadonlySet<unknown> = new Set(["PARTIAL", 1]);
/** Share of the traces of which a part may be missing before that is said. */
const TOLERATED_SHARE = 0.02;
/** For the doctor, who looks at a few of its traces. */
const LOOKED_AT = 5;

interface FetchedTrace extends ReadSpans {
  /** The server says that it does not have all of it. */
  readonly isPartial: boolean;
}

const queryOf = (services: readonly string[]): string =>
  services.length === 0
    ? "{}"
    : `{ ${services.map((service) => `resource.service.name = ${JSON.stringify(service)}`).join(" || ")} }`;

/** Traces of Grafana Tempo: ids by search, then each trace as OTLP. */
export class TempoSource implements SpanSource {
  readonly name: string;
  readonly endpoint: EndpointClient;
  readonly graceSeconds: number;
  private readonly options: TempoOptions;
  private readonly query: () => string;
  private readonly turn: BulkheadPolicy;
  private readonly seen = new SeenTraces();
  private readonly batch = new SpanBatch();

  constructor(options: TempoOptions, entries: () => readonly string[], settings: ClientSettings = {}) {
    this.name = options.name;
    this.options = options;
    this.graceSeconds = options.graceSeconds;
    this.query = () =>
      options.query ?? queryOf(options.service === undefined ? entries() : [options.service]);
    this.turn = bulkhead(options.concurrency, Number.MAX_SAFE_INTEGER);
    this.endpoint = new EndpointClient(options.name, "tempo", options, settings);
  }

  async pull(
    interval: Interval,
    onSpans: (batch: SpanBatch) => void,
    signal?: AbortSignal,
  ): Promise<PullResult> {
    const { limit, maxRequests, maxTraces } = this.options;
    const { results, truncated } = await searchBySplitting(
      { fromMs: interval.startMs, toMs: interval.endMs },
      { limit, minSliceMs: MIN_SLICE_MS, maxRequests },
      async (slice) => this.search(slice, signal),
    );
    if (truncated) throw this.endpoint.record(tooMany(this.name, interval));
    const fresh = [...new Set(results)].filter((id) => this.seen.add(id));
    const answers = await Promise.all(fresh.slice(0, maxTraces).map(async (id) => this.trace(id, signal)));
    const fetched = answers.filter((answer) => answer !== undefined);
    if (2 * fetched.length < answers.length) throw this.tooFew(answers.length, fetched.length);
    const scale = fresh.length > fetched.length ? fresh.length / fetched.length : 1;
    const total = { traces: 0, spans: 0, leftOut: 0 };
    for (const { spans, leftOut } of fetched) {
      total.traces += spans.length > 0 ? 1 : 0;
      total.spans += spans.length;
      total.leftOut += leftOut;
      this.batch.clear(interval.startMs);
      for (const span of spans) this.batch.add(scaled(span, scale));
      if (this.batch.length > 0) onSpans(this.batch);
    }
    const partial = fetched.filter(({ isPartial }) => isPartial).length;
    if (total.leftOut > 0 || partial > 0 || fetched.length < answers.length) {
      this.endpoint.health.partialResultsTotal += 1;
    }
    if (partial <= TOLERATED_SHARE * fetched.length) return total;
    return {
      ...total,
      missing: `${this.name}: the server has only a part of ${partial} of ${fetched.length} traces`,
    };
  }

  async check(nowMs: number, signal?: AbortSignal): Promise<Finding[]> {
    const subject = `tempo ${this.name}`;
    try {
      const found = await this.search({ fromMs: nowMs - 900_000, toMs: nowMs }, signal);
      const clock = clockFinding(subject, this.endpoint.health);
      if (found.length > 0) {
        const fetched = await Promise.all(
          found.slice(0, LOOKED_AT).map(async (id) => this.trace(id, signal)),
        );
        const traces = fetched.filter((trace) => trace !== undefined);
        const ok: Finding = { subject, level: "ok", message: "answers and finds traces" };
        return [ok, ...clock, ...storedFindings(subject, traces)];
      }
      return [
        {
          subject,
          level: "problem",
          message: `found no trace of the last 15 minutes with ${this.query()}`,
          remedy: "check the service's name, or write your own TraceQL as query",
        },
        ...clock,
      ];
    } catch (error) {
      return [problem(subject, error)];
    }
  }

  async close(): Promise<void> {
    await this.endpoint.close();
  }

  private async search({ fromMs, toMs }: Slice, signal?: AbortSignal): Promise<string[]> {
    const query = {
      q: this.query(),
      start: String(Math.floor(fromMs / 1_000)),
      end: String(Math.ceil(toMs / 1_000)),
      limit: String(this.options.limit),
      spss: "1",
    };
    const call = { path: "api/search", query, ...(signal === undefined ? {} : { signal }) };
    const { traces } = await this.endpoint.json(call, SearchAnswer);
    return (traces ?? []).map(({ traceID }) => traceID).filter((id) => /^[0-9a-fA-F]+$/.test(id));
  }

  /**
   * One trace, asked for again where the server has only a part of it; undefined when it cannot be had: expired, half-written, or
   * a call that failed.
   */
  private async trace(id: string, signal?: AbortSignal): Promise<FetchedTrace | undefined> {
    try {
      const trace = await this.fetch(id, signal);
      return trace.isPartial ? await this.fetch(id, signal) : trace;
    } catch (error) {
      if (error instanceof EndpointError || error instanceof z.ZodError) return undefined;
      throw error;
    }
  }

  private async fetch(id: string, signal?: AbortSignal): Promise<FetchedTrace> {
    const { api } = this.options;
    const path = api === "v1" ? `api/traces/${id}` : `api/v2/traces/${id}`;
    const call = { path, query: {}, ...(signal === undefined ? {} : { signal }) };
    const value = await this.turn.execute(async () => this.endpoint.json(call, z.unknown()));
    if (api === "v1") return { ...readStoredOtlp(value), isPartial: false };
    const { status, trace } = TraceV2.parse(value);
    return { ...readStoredOtlp(trace), isPartial: PARTIAL.has(status) };
  }

  private tooFew(asked: number, fetched: number): EndpointError {
    const last = this.endpoint.health.lastProblem;
    return this.endpoint.record(
      new EndpointError(
        "bad-reply",
        `${this.name}: only ${fetched} of ${asked} traces could be fetched${last === undefined ? "" : `: ${last.message}`}`,
        last?.remedy ?? "check the server's log",
      ),
    );
  }
}

/** A span of a sample of the traces found. */
function scaled(span: SpanRecord, scale: number): SpanRecord {
  return scale === 1 ? span : { ...span, adjustedCount: scale * (span.adjustedCount ?? 1) };
}
