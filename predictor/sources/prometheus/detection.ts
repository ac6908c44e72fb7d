import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { PrometheusClient } from "./client.ts";
import type { MappingCandidate, RedMapping } from "./mapping.ts";
import { custom } from "./custom.ts";
import { hubble } from "./hubble.ts";
import { istio } from "./istio.ts";
import { linkerd } from "./linkerd.ts";
import { otel } from "./otel.ts";
import type { PrometheusOptions } from "./options.ts";
import { escapeRegex, quoted } from "./promql.ts";
import { sampleValue } from "./samples.ts";

const FAMILIES = { istio, linkerd, hubble, otel } as const;

export interface Detected {
  readonly mapping: RedMapping;
  /** Series of the largest metric, for choosing how to read it. Infinity when it cannot be told. */
  readonly seriesCount: number;
}

/** Which of the known request metrics this server holds now, classic or native. @throws TradewindError `no-series` */
export async function detectMapping(
  client: PrometheusClient,
  options: PrometheusOptions,
  nowMs: number,
  signal?: AbortSignal,
): Promise<Detected> {
  if (options.custom !== undefined) {
    return { mapping: custom(options.custom), seriesCount: Number.POSITIVE_INFINITY };
  }
  const candidates = candidatesFor(options);
  const counts = await seriesCounts(client, metricNames(candidates), nowMs, signal);
  for (const { requestsMetric, latencyMetric, mapping } of candidates) {
    const requests = counts.get(requestsMetric) ?? 0;
    const classic = counts.get(`${latencyMetric}_bucket`) ?? 0;
    const native = counts.get(latencyMetric) ?? 0;
    if (requests > 0 && classic > 0)
      return { mapping: mapping(false), seriesCount: Math.max(requests, classic) };
    if (requests > 0 && native > 0)
      return { mapping: mapping(true), seriesCount: Math.max(requests, native) };
  }
  const wanted =
    options.metrics === "auto" ? "Istio, Linkerd, Hubble or OpenTelemetry span metrics" : options.metrics;
  const found = [...counts.keys()];
  throw new TradewindError(
    "no-series",
    `${options.name}: the server answers but holds no request metrics of ${wanted}` +
      (found.length === 0 ? "" : ` that belong together (it has only ${found.slice(0, 5).join(", ")})`),
  );
}

function candidatesFor({ metrics, namespaces }: PrometheusOptions): MappingCandidate[] {
  if (metrics === "auto") return Object.values(FAMILIES).flatMap((family) => family(namespaces));
  return metrics === "custom" || metrics === "none" ? [] : FAMILIES[metrics](namespaces);
}

function metricNames(candidates: readonly MappingCandidate[]): string[] {
  const names = candidates.flatMap(({ requestsMetric, latencyMetric }) => [
    requestsMetric,
    latencyMetric,
    `${latencyMetric}_bucket`,
  ]);
  return [...new Set(names)];
}

/** How many series each of these metrics has now; metrics without any are absent. */
export async function seriesCounts(
  client: PrometheusClient,
  names: readonly string[],
  nowMs: number,
  signal?: AbortSignal,
): Promise<Map<string, number>> {
  const pattern = names.map(escapeRegex).join("|");
  const { series } = await client.query(
    `count by (__name__) ({__name__=~${quoted(pattern)}})`,
    nowMs,
    signal,
  );
  const counts = new Map<string, number>();
  for (const { metric, value } of series) {
    const name = metric["__name__"];
    const count = sampleValue(value);
    if (name !== undefined && count !== undefined && count > 0) counts.set(name, count);
  }
  return counts;
}
