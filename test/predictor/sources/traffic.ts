import { seededRng, exponential } from "@tradewind/core/values/rng.ts";
import { traceStateOf } from "@tradewind/predictor/sources/otlp/trace-state.ts";
import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import type { SpanRecord } from "@tradewind/predictor/window/span.ts";
import type { PushedSeries } from "./prometheus/remote-write.ts";

/*
 * One seeded traffic, for rendering into every form a source may have it in:
 *   front ─> cart (always), then ─> stock (2 of 3 requests), one after the other; cart ─> database.
 */

export interface Traffic {
  readonly startMs: number;
  readonly endMs: number;
  readonly spans: readonly SpanRecord[];
}

export function traffic(startMs: number, seconds: number, perSecond: number, seed: number): Traffic {
  const rng = seededRng(seed);
  const spans: SpanRecord[] = [];
  let next = 1;
  const id = (digits: number): string => (next += 1).toString(16).padStart(digits, "0");
  const micros = (ms: number): number => Math.round(ms * 1_000) / 1_000;
  const serve = (
    traceId: string,
    parentId: string | undefined,
    service: string,
    atMs: number,
    callMs: number,
    error: boolean,
  ): number => {
    const spanId = id(16);
    let at = atMs + micros(0.2 + exponential(rng, 1.5));
    const calls =
      service === "front"
        ? rng() < 2 / 3
          ? ["cart", "stock"]
          : ["cart"]
        : service === "cart"
          ? ["database"]
          : [];
    for (const callee of calls) {
      const clientId = id(16);
      const begin = at;
      at = serve(traceId, clientId, callee, at + 0.05, callMs, false) + 0.05;
      spans.push({
        traceId,
        spanId: clientId,
        parentId: spanId,
        resource: { service },
        name: `call ${callee}`,
        kind: SPAN_KIND.client,
        startMs: micros(begin),
        durationMs: micros(at - begin),
      });
      at = micros(at + exponential(rng, 0.3));
    }
    if (calls.length === 0) at = micros(at + exponential(rng, callMs));
    spans.push({
      traceId,
      spanId,
      parentId,
      resource: { service },
      name: `GET /${service}`,
      kind: SPAN_KIND.server,
      startMs: micros(atMs),
      durationMs: micros(at - atMs),
      error,
    });
    return at;
  };
  for (let at = startMs; ;) {
    at = micros(at + exponential(rng, 1_000 / perSecond));
    if (at >= startMs + seconds * 1_000) break;
    serve(id(32), undefined, "front", at, 4, rng() < 0.05);
  }
  return { startMs, endMs: startMs + seconds * 1_000, spans };
}

export const BOUNDS_SECONDS = [0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25];

/** Span metrics of the OpenTelemetry connector for this traffic, as scraped at `scrapeTimesMs`. */
export function spanMetrics({ spans }: Traffic, scrapeTimesMs: readonly number[]): PushedSeries[] {
  const series = new Map<
    string,
    { labels: Record<string, string>; events: { endMs: number; add: number }[] }
  >();
  const count = (labels: Record<string, string>, endMs: number, add: number): void => {
    const key = JSON.stringify(labels);
    const known = series.get(key) ?? { labels, events: [] };
    known.events.push({ endMs, add });
    series.set(key, known);
  };
  for (const { resource, kind, startMs, durationMs, error } of spans) {
    const labels = {
      service_name: resource.service,
      span_kind: kind === SPAN_KIND.server ? "SPAN_KIND_SERVER" : "SPAN_KIND_CLIENT",
      status_code: error === true ? "STATUS_CODE_ERROR" : "STATUS_CODE_UNSET",
    };
    const endMs = startMs + durationMs;
    const seconds = durationMs / 1_000;
    count({ ...labels, __name__: "traces_span_metrics_calls_total" }, endMs, 1);
    count({ ...labels, __name__: "traces_span_metrics_duration_seconds_sum" }, endMs, seconds);
    count({ ...labels, __name__: "traces_span_metrics_duration_seconds_count" }, endMs, 1);
    for (const bound of [...BOUNDS_SECONDS, Number.POSITIVE_INFINITY]) {
      const le = bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound);
      count(
        { ...labels, __name__: "traces_span_metrics_duration_seconds_bucket", le },
        endMs,
        seconds <= bound ? 1 : 0,
      );
    }
  }
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans) {
    const client = span.parentId === undefined ? undefined : byId.get(span.parentId);
    if (client === undefined || span.kind !== SPAN_KIND.server) continue;
    const labels = { client: client.resource.service, server: span.resource.service };
    count({ ...labels, __name__: "traces_service_graph_request_total" }, span.startMs + span.durationMs, 1);
  }
  return [...series.values()].map(({ labels, events }) => {
    events.sort((a, b) => a.endMs - b.endMs);
    let at = 0;
    let value = 0;
    const samples = scrapeTimesMs.map((timeMs): [number, number] => {
      for (; at < events.length && events[at]!.endMs <= timeMs; at += 1) value += events[at]!.add;
      return [timeMs, value];
    });
    return { labels: { ...labels, job: "collector", instance: "collector:8889" }, samples };
  });
}

/** Jaeger's JSON for the traces that begin in a stretch of time, references with their whole chain of ancestors. */
export function jaegerTraces({ spans }: Traffic, fromMs: number, toMs: number): unknown[] {
  const traces = new Map<string, SpanRecord[]>();
  for (const span of spans) traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), span]);
  return [...traces.values()].flatMap((members) => {
    const root = members.find(({ parentId }) => parentId === undefined)!;
    if (root.startMs < fromMs || root.startMs >= toMs) return [];
    const byId = new Map(members.map((span) => [span.spanId, span]));
    const services = [...new Set(members.map(({ resource }) => resource.service))];
    const rendered = (span: SpanRecord): Record<string, unknown> => ({
      traceID: span.traceId.replace(/^0+/, ""),
      spanID: span.spanId.replace(/^0+/, ""),
      operationName: span.name,
      references:
        span.parentId === undefined
          ? []
          : [
              {
                refType: "CHILD_OF",
                traceID: span.traceId.replace(/^0+/, ""),
                spanID: span.parentId.replace(/^0+/, ""),
                span: rendered(byId.get(span.parentId)!),
              },
            ],
      startTime: Math.round(span.startMs * 1_000),
      duration: Math.round(span.durationMs * 1_000),
      tags: [
        { key: "span.kind", type: "string", value: span.kind === SPAN_KIND.server ? "server" : "client" },
        ...(span.adjustedCount === undefined
          ? []
          : [{ key: "w3c.tracestate", type: "string", value: traceStateOf(span.adjustedCount) }]),
        ...(span.error === true ? [{ key: "error", type: "bool", value: true }] : []),
        ...(span.userAgent === undefined
          ? []
          : [{ key: "http.user_agent", type: "string", value: span.userAgent }]),
      ],
      processID: `p${services.indexOf(span.resource.service)}`,
    });
    return [
      {
        traceID: root.traceId.replace(/^0+/, ""),
        spans: members.map(rendered),
        processes: Object.fromEntries(
          services.map((serviceName, index) => [`p${index}`, { serviceName, tags: [] }]),
        ),
        warnings: null,
      },
    ];
  });
}

/** Tempo's JSON for one trace: OTLP with names of enums and base64 ids, as protobuf's JSON form has them. */
export function tempoTrace({ spans }: Traffic, traceId: string): unknown {
  const members = spans.filter((span) => span.traceId === traceId);
  const base64 = (hex: string): string => Buffer.from(hex, "hex").toString("base64");
  const nanos = (ms: number): string => `${BigInt(Math.round(ms * 1_000))}000`;
  return {
    batches: members.map((span) => ({
      resource: { attributes: [{ key: "service.name", value: { stringValue: span.resource.service } }] },
      scopeSpans: [
        {
          spans: [
            {
              traceId: base64(span.traceId),
              spanId: base64(span.spanId),
              ...(span.parentId === undefined ? {} : { parentSpanId: base64(span.parentId) }),
              name: span.name,
              kind: span.kind === SPAN_KIND.server ? "SPAN_KIND_SERVER" : "SPAN_KIND_CLIENT",
              startTimeUnixNano: nanos(span.startMs),
              endTimeUnixNano: nanos(span.startMs + span.durationMs),
              attributes:
                span.userAgent === undefined
                  ? []
                  : [{ key: "user_agent.original", value: { stringValue: span.userAgent } }],
              ...(span.adjustedCount !== undefined && { traceState: traceStateOf(span.adjustedCount) }),
              status: span.error === true ? { code: "STATUS_CODE_ERROR" } : {},
            },
          ],
        },
      ],
    })),
  };
}
