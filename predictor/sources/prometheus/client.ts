import { bulkhead } from "cockatiel";
import type { BulkheadPolicy } from "cockatiel";
import { parseWith } from "@tradewind/core/values/config.ts";
import type { z } from "zod";
import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import { BuildInfoAnswer, Failure, NamesAnswer, QueryAnswer, Series, SeriesAnswer } from "./api.ts";
import type { Labels } from "./api.ts";
import type { Interval } from "../../window/interval.ts";

export interface QueryResult {
  readonly resultType: "vector" | "matrix" | "scalar" | "string";
  readonly series: readonly Series[];
}

const SERIES_MAX = 500_000;
const MINUTE_MS = 60_000;
/** Prometheus gives at most 11,000 points of a series. */
const MOST_STEPS = 10_000;

/**
 * Warnings that say that data is missing, as Thanos and remote reads word them. Remarks on the query (`PromQL info: …`,
 * which Thanos sends as warnings too) quote metric names, such as `requests_failed`.
 */
const MISSING_DATA = /partial|unavailable|fail|deadline|(?:receive|fetch) series/i;
const REMARK = /^PromQL (?:info|warning):/i;

/**
 * Prometheus' query API as Prometheus, VictoriaMetrics, Thanos and Mimir serve it. A query whose answer the server calls
 * partial fails: a sum over a part of the series would be too low.
 */
export class PrometheusClient {
  readonly endpoint: EndpointClient;
  /** Samples in all answers so far. */
  samplesReceived = 0;
  private readonly turn: BulkheadPolicy;

  /** At most `concurrency` questions are open at once; the others wait their turn. */
  constructor(endpoint: EndpointClient, concurrency = 4) {
    this.endpoint = endpoint;
    this.turn = bulkhead(concurrency, Number.MAX_SAFE_INTEGER);
  }

  /** `GET /api/v1/query`. A bare range selector such as `m[1m]` gives the stored samples as a matrix. */
  async query(expression: string, timeMs: number, signal?: AbortSignal): Promise<QueryResult> {
    return this.ask("api/v1/query", { query: expression, time: seconds(timeMs), nocache: "1" }, signal);
  }

  /** `GET /api/v1/query_range`: the expression at start, start + step, … up to end. */
  async queryRange(
    expression: string,
    range: { readonly startMs: number; readonly endMs: number; readonly stepMs: number },
    signal?: AbortSignal,
  ): Promise<QueryResult> {
    const { startMs, endMs, stepMs } = range;
    const query = {
      query: expression,
      start: seconds(startMs),
      end: seconds(endMs),
      step: seconds(stepMs),
      nocache: "1",
    };
    return this.ask("api/v1/query_range", query, signal);
  }

  /** The expression at a moment, or, over a time that has a length, in steps of it that lose no series of five minutes. */
  async queryWithin(
    expression: string,
    { endMs, startMs }: Interval,
    signal?: AbortSignal,
  ): Promise<readonly Series[]> {
    const lengthMs = endMs - startMs;
    if (lengthMs <= 0) return (await this.query(expression, endMs, signal)).series;
    const stepMs = Math.max(MINUTE_MS, Math.min(5 * MINUTE_MS, lengthMs / 500), lengthMs / MOST_STEPS);
    const range = { startMs, endMs, stepMs: Math.ceil(stepMs / 1_000) * 1_000 };
    return (await this.queryRange(expression, range, signal)).series;
  }

  /** Names of the labels of the series that match; all when none is given. */
  async labelNames(matches: readonly string[] = [], signal?: AbortSignal): Promise<readonly string[]> {
    const query = matches.length === 0 ? {} : { "match[]": matches };
    const { data } = await this.read({ path: "api/v1/labels", query }, NamesAnswer, signal);
    return data ?? [];
  }

  async labelValues(
    label: string,
    matches: readonly string[] = [],
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const query = matches.length === 0 ? {} : { "match[]": matches };
    const path = `api/v1/label/${encodeURIComponent(label)}/values`;
    const { data } = await this.read({ path, query }, NamesAnswer, signal);
    return data ?? [];
  }

  async series(
    matches: readonly string[],
    range: { readonly startMs: number; readonly endMs: number },
    signal?: AbortSignal,
  ): Promise<readonly Labels[]> {
    const query = { "match[]": matches, start: seconds(range.startMs), end: seconds(range.endMs) };
    const { data } = await this.read({ path: "api/v1/series", query }, SeriesAnswer, signal);
    return data ?? [];
  }

  /** The server's version; undefined when it does not tell. */
  async version(signal?: AbortSignal): Promise<string | undefined> {
    const { data } = await this.read({ path: "api/v1/status/buildinfo", query: {} }, BuildInfoAnswer, signal);
    return data.version;
  }

  private async ask(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<QueryResult> {
    const asForm = (query["query"]?.length ?? 0) > 1_500;
    const { data, warnings, isPartial } = await this.read({ path, query, asForm }, QueryAnswer, signal);
    const { health } = this.endpoint;
    health.warningsTotal += warnings?.length ?? 0;
    const warning = (warnings ?? []).find((each) => !REMARK.test(each) && MISSING_DATA.test(each));
    if (isPartial === true || warning !== undefined) throw this.partial(warning);
    const series: Series[] = [];
    for (const each of data.resultType === "vector" || data.resultType === "matrix" ? data.result : []) {
      const parsed = Series.safeParse(each);
      if (!parsed.success || series.length >= SERIES_MAX) continue;
      series.push({ ...parsed.data, metric: plainNames(parsed.data.metric) });
      this.samplesReceived += (parsed.data.values?.length ?? 1) + (parsed.data.histograms?.length ?? 0);
    }
    if (series.length < data.result.length && data.resultType !== "scalar") health.partialResultsTotal += 1;
    return { resultType: data.resultType, series };
  }

  private async read<Schema extends z.ZodType>(
    call: { path: string; query: Record<string, string | readonly string[]>; asForm?: boolean },
    schema: Schema,
    signal: AbortSignal | undefined,
  ): Promise<z.output<Schema>> {
    const { body, status } = await this.turn.execute(async () =>
      this.endpoint.call({
        ...call,
        acceptStatuses: [400, 422],
        ...(signal === undefined ? {} : { signal }),
      }),
    );
    let value: unknown;
    try {
      value = JSON.parse(body.toString("utf8"));
    } catch (error) {
      throw this.endpoint.badReply(error);
    }
    const failure = Failure.safeParse(value);
    if (failure.success || status >= 400) throw this.refusal(failure.data);
    try {
      return parseWith(schema, value, "the answer");
    } catch (error) {
      throw this.endpoint.badReply(error);
    }
  }

  /** @param warning what the server said about it */
  private partial(warning = "isPartial"): EndpointError {
    const { health } = this.endpoint;
    health.partialResultsTotal += 1;
    const error = new EndpointError(
      "partial",
      `${health.name} (${health.url}): data is missing from the answer, says the server: ${warning.slice(0, 300)}`,
      "check that all storage nodes or stores of the server are up",
    );
    return this.endpoint.record(error);
  }

  private refusal(failure: z.infer<typeof Failure> | undefined): EndpointError {
    const { health } = this.endpoint;
    const said = failure?.error?.slice(0, 300) ?? "no reason given";
    const busy = failure?.errorType === "timeout" || /too many|limit|exceed/i.test(said);
    const error = new EndpointError(
      busy ? "too-large" : "bad-request",
      `${health.name} (${health.url}): the server refused the query: ${said}`,
      busy
        ? "narrow the source by namespaces or services, or raise the server's query limits"
        : "check the mapping's PromQL, and whether the server is of a kind that understands it",
    );
    return this.endpoint.record(error);
  }
}

/** OpenTelemetry's attributes as Prometheus calls them: stores that do not translate names keep the dots. */
function plainNames(labels: Record<string, string>): Record<string, string> {
  if (!Object.keys(labels).some((name) => name.includes("."))) return labels;
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [name.replaceAll(".", "_"), value]),
  );
}

/** Seconds as the API wants them, to the millisecond. */
function seconds(millis: number): string {
  return (millis / 1_000).toFixed(3);
}
