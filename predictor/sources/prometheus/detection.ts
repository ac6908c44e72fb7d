import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { Interval } from "../../window/interval.ts";
import type { PrometheusClient } from "./client.ts";
import { parseBound } from "./classic-histogram.ts";
import { placedService } from "./mapping.ts";
import type { MappingCandidate, RedMapping } from "./mapping.ts";
import { custom } from "./custom.ts";
import { httpLibraries, requestHistograms } from "./http-libraries.ts";
import { envoy, nginx, traefik } from "./ingress.ts";
import { hubble, istio, linkerd } from "./meshes.ts";
import type { PrometheusOptions } from "./options.ts";
import { otel } from "./otel.ts";
import { conditions, equal, oneOf, selector } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import type { RateReader } from "./rates.ts";
import { sampleValue } from "./samples.ts";
import { semconv } from "./semconv.ts";

const FAMILIES = {
  istio,
  linkerd,
  hubble,
  otel,
  semconv,
  http: httpLibraries,
  nginx,
  traefik,
  envoy,
} as const;

export interface Detected {
  readonly mapping: RedMapping;
  /** Series of the largest metric, for choosing how to read it. Infinity when it cannot be told. */
  readonly seriesCount: number;
  /** Series of the counter of requests. Infinity when it cannot be told. */
  readonly requestSeries: number;
  /** The server forms the rates of native histograms; those beside them are then to be of the same time. */
  readonly isNative: boolean;
  /** The application's services that it tells of; undefined where PromQL is the user's own. */
  readonly services: readonly string[] | undefined;
  /** When they had samples last, to a minute. */
  readonly lastMs: number;
}

const MINUTE_MS = 60_000;
/** Servers show a series for so long after its last sample. */
const STALE_MS = 5 * MINUTE_MS;

/** Whose request metrics are looked for. */
interface WantedMetrics {
  readonly options: PrometheusOptions;
  readonly namespace: string;
  readonly entries: readonly string[];
}

/**
 * Which of the known request metrics this server holds, classic or native: of several those of the entry service, and then
 * of most services of the application.
 * @param time a moment, or the time of which metrics may be
 * @throws TradewindError `no-series`
 */
export async function detectMapping(
  client: PrometheusClient,
  reader: RateReader,
  wanted: WantedMetrics,
  time: Interval,
  signal?: AbortSignal,
): Promise<Detected> {
  const { options } = wanted;
  if (options.custom !== undefined) {
    const seriesCount = Number.POSITIVE_INFINITY;
    return {
      mapping: custom(options.custom),
      seriesCount,
      requestSeries: seriesCount,
      isNative: false,
      services: undefined,
      lastMs: time.endMs,
    };
  }
  const scope = scopeOf(options);
  const counts = new Map<string, number>();
  const others = new Set<string>();
  const rankedOf = async (candidates: readonly MappingCandidate[]) => {
    if (candidates.length === 0) return [];
    const own = await seriesCounts(client, metricNames(candidates), scope, time, signal);
    for (const [name, count] of own) counts.set(name, count);
    const present = candidates.flatMap((candidate) => presentForm(candidate, own) ?? []);
    return Promise.all(present.map(async (form) => rankOf(form)));
  };
  const rankOf = async (form: PresentForm) => {
    const mapping = form.candidate.mapping({ isNative: form.isNative, unitSeconds: 1 });
    const services = new Set<string>();
    let lastMs = Number.NEGATIVE_INFINITY;
    for (const found of await reader.labelSets(mapping.requests, time, signal)) {
      const key = mapping.service(found.labels);
      const own = key && placedService(key, wanted.namespace);
      if (own !== undefined) {
        services.add(own.service);
        lastMs = Math.max(lastMs, found.lastMs);
      } else if (key !== undefined) others.add(`${key.namespace ?? "?"}/${key.service}`);
    }
    return { form, lastMs, name: mapping.name, services };
  };
  let ranked = await rankedOf(candidatesFor(options, wanted.namespace));
  const isUnknown = ranked.every(({ services }) => services.size === 0);
  if (isUnknown && (options.metrics === "auto" || options.metrics === "http")) {
    const names = await histogramNames(client, scope, time, signal);
    const further = httpLibraries(options.namespaces, wanted.namespace, names);
    ranked = [...ranked, ...(await rankedOf(further))];
  }
  const hasEntry = ({ services }: { services: ReadonlySet<string> }): number =>
    Number(wanted.entries.some((entry) => services.has(entry)));
  const [best] = ranked.toSorted((a, b) => hasEntry(b) - hasEntry(a) || b.services.size - a.services.size);
  if (best === undefined) throw noMetrics(options, counts);
  if (best.services.size === 0)
    throw noneOfYours(
      options,
      ranked.map(({ name }) => name),
      wanted.namespace,
      [...others],
    );
  const { candidate, isNative, requestSeries, seriesCount } = best.form;
  const unitSeconds =
    candidate.unitSeconds ??
    (isNative ? MILLISECOND : await unitByBounds(client, candidate.latencyMetric, scope, time, signal));
  return {
    mapping: candidate.mapping({ isNative, unitSeconds }),
    seriesCount,
    requestSeries,
    isNative,
    services: [...best.services].sort(),
    lastMs: best.lastMs > time.endMs - STALE_MS ? best.lastMs : best.lastMs - STALE_MS + MINUTE_MS,
  };
}

interface PresentForm {
  readonly candidate: MappingCandidate;
  readonly isNative: boolean;
  readonly seriesCount: number;
  readonly requestSeries: number;
}

function presentForm(
  candidate: MappingCandidate,
  counts: ReadonlyMap<string, number>,
): PresentForm | undefined {
  const { latencyMetric, requestsMetric } = candidate;
  const classic = counts.get(`${latencyMetric}_bucket`) ?? 0;
  // A summary has a count of its own beside its quantiles; a native histogram is one series.
  const native = counts.has(`${latencyMetric}_count`) ? 0 : (counts.get(latencyMetric) ?? 0);
  const latency = classic > 0 ? classic : native;
  const requestSeries = requestsMetric === undefined ? latency : (counts.get(requestsMetric) ?? 0);
  if (requestSeries === 0 || latency === 0) return undefined;
  return {
    candidate,
    isNative: classic === 0,
    seriesCount: Math.max(requestSeries, latency),
    requestSeries,
  };
}

/** Names of histograms that may be of requests, those of servers first. */
async function histogramNames(
  client: PrometheusClient,
  scope: readonly Matcher[],
  time: Interval,
  signal?: AbortSignal,
): Promise<string[]> {
  const series = await client.queryWithin(requestHistograms(conditions(scope)), time, signal);
  const names = series.flatMap(({ metric }) => metric["__name__"]?.replace(/_bucket$/, "") ?? []);
  const rank = (name: string): number => Number(!name.includes("http")) + Number(!name.includes("server"));
  return [...new Set(names)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).slice(0, MOST_HISTOGRAMS);
}
const MOST_HISTOGRAMS = 50;

function noMetrics(
  { metrics, name }: PrometheusOptions,
  counts: ReadonlyMap<string, number>,
): TradewindError {
  const found = [...counts.keys()];
  const summary = found.find((each) => each.endsWith("_count") && !counts.has(`${each.slice(0, -6)}_bucket`));
  if (summary !== undefined) return withoutBuckets(name, summary.slice(0, -6));
  const wanted =
    metrics === "auto"
      ? "Istio, Linkerd, Hubble, OpenTelemetry span metrics, HTTP servers or ingress controllers"
      : metrics;
  return new TradewindError(
    "no-series",
    `${name}: the server answers but holds no request metrics of ${wanted}` +
      (found.length === 0 ? "" : ` that belong together (it has only ${found.slice(0, 5).join(", ")})`),
  );
}

function withoutBuckets(name: string, metric: string): TradewindError {
  const spring =
    metric === "http_server_requests_seconds"
      ? ": in Spring set management.metrics.distribution.percentiles-histogram.http.server.requests=true"
      : "";
  return new TradewindError(
    "no-series",
    `${name}: ${metric} has a count and a sum but no buckets, so no percentile can be had of it; have the library make a histogram${spring}`,
  );
}

function noneOfYours(
  { name }: PrometheusOptions,
  families: readonly string[],
  namespace: string,
  others: readonly string[],
): TradewindError {
  const what = [...new Set(families)].join(" and ");
  const whose = others.length === 0 ? "" : ` but of ${others.slice(0, 3).join(", ")}`;
  return new TradewindError(
    "no-series",
    `${name}: request metrics of ${what} tell of 0 services of yours, in namespace '${namespace}',${whose || " and of none else"}`,
  );
}

const MILLISECOND = 0.001;
/** Histograms in milliseconds have bounds beyond this number, those in seconds have none. */
const LONGEST_BOUND_SECONDS = 120;

/** The unit of a classic histogram whose name does not say it, by its largest bound. */
async function unitByBounds(
  client: PrometheusClient,
  base: string,
  scope: readonly Matcher[],
  time: Interval,
  signal?: AbortSignal,
): Promise<number> {
  const bounded = `count by (le) (${selector(`${base}_bucket`, scope)})`;
  const series = await client.queryWithin(bounded, time, signal);
  const bounds = series.flatMap(({ metric }) => parseBound(metric["le"]) ?? []).filter(Number.isFinite);
  return Math.max(0, ...bounds) > LONGEST_BOUND_SECONDS ? MILLISECOND : 1;
}

/** A time without a length. */
export const momentOf = (atMs: number): Interval => ({ startMs: atMs, endMs: atMs });

/** The source's own conditions. */
export function scopeOf({ matchers }: Pick<PrometheusOptions, "matchers">): Matcher[] {
  return Object.entries(matchers).map(([label, value]) => equal(label, value));
}

function candidatesFor({ metrics, namespaces }: PrometheusOptions, own: string): MappingCandidate[] {
  if (metrics === "auto") return Object.values(FAMILIES).flatMap((family) => family(namespaces, own));
  return metrics === "custom" || metrics === "none" ? [] : FAMILIES[metrics](namespaces, own);
}

function metricNames(candidates: readonly MappingCandidate[]): string[] {
  const names = candidates.flatMap(({ requestsMetric, latencyMetric }) => [
    ...(requestsMetric === undefined ? [] : [requestsMetric]),
    latencyMetric,
    `${latencyMetric}_bucket`,
    `${latencyMetric}_count`,
  ]);
  return [...new Set(names)];
}

/** How many series each of these metrics had last within a time; metrics without any are absent. */
export async function seriesCounts(
  client: PrometheusClient,
  names: readonly string[],
  scope: readonly Matcher[],
  time: Interval,
  signal?: AbortSignal,
): Promise<Map<string, number>> {
  const selected = `{${conditions([oneOf("__name__", names), ...scope])}}`;
  const series = await client.queryWithin(`count by (__name__) (${selected})`, time, signal);
  const counts = new Map<string, number>();
  for (const { metric, value, values } of series) {
    const name = metric["__name__"];
    const count = sampleValue(value ?? values?.at(-1));
    if (name !== undefined && count !== undefined && count > 0) counts.set(name, count);
  }
  return counts;
}
