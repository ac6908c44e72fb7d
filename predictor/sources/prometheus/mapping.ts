import type { Labels } from "./api.ts";
import type { RateQuery } from "./rates.ts";

export interface ServiceKey {
  readonly service: string;
  /** Absent when the metrics do not tell. */
  readonly namespace?: string | undefined;
}

/** The series of a histogram. */
export interface LatencyQuery {
  /** `le` series; undefined for a native histogram. */
  readonly buckets?: RateQuery | undefined;
  readonly sum?: RateQuery | undefined;
  readonly native?: RateQuery | undefined;
  /** What one unit of the metric is worth: 0.001 for milliseconds. */
  readonly unitSeconds: number;
}

/** Where to find rate, errors and duration of services in one family of metrics, and how to read its labels. */
export interface RedMapping {
  readonly name: string;
  readonly requests: RateQuery;
  /** Failed requests, where they are a metric of their own rather than a label of `requests`. */
  readonly errors?: RateQuery | undefined;
  readonly latency: LatencyQuery;
  /** Whom a series is about; undefined leaves it out. */
  readonly service: (labels: Labels) => ServiceKey | undefined;
  /** Whether a series of `requests` counts failed requests. */
  readonly failed: (labels: Labels) => boolean;
  /** Calls between services as the caller sees them; gives the call graph. */
  readonly calls?: CallsQuery | undefined;
  /** Time a service spends waiting for others, all its outgoing calls together. */
  readonly waiting?: { readonly sum: RateQuery; readonly unitSeconds: number } | undefined;
}

export interface CallsQuery {
  readonly count: RateQuery;
  readonly sum?: RateQuery | undefined;
  readonly unitSeconds: number;
  readonly caller: (labels: Labels) => ServiceKey | undefined;
  readonly callee: (labels: Labels) => ServiceKey | undefined;
}

/** A mapping that may apply: it does when its metrics exist. */
export interface MappingCandidate {
  /** Names that must all exist; the last one may instead exist as a native histogram, without `_bucket`. */
  readonly requestsMetric: string;
  /** Name of the histogram without `_bucket`, `_sum`, `_count`. */
  readonly latencyMetric: string;
  readonly mapping: (native: boolean) => RedMapping;
}

/** Names in the classic or the native form of a histogram. */
export function latencyQuery(
  base: string,
  native: boolean,
  unitSeconds: number,
  query: (metric: string, moreLabels: readonly string[]) => RateQuery,
): LatencyQuery {
  if (native) return { native: query(base, []), unitSeconds };
  return { buckets: query(`${base}_bucket`, ["le"]), sum: query(`${base}_sum`, []), unitSeconds };
}

/** gRPC status codes that are the server's fault (OpenTelemetry semantic conventions for RPC spans). */
const GRPC_SERVER_FAULTS = new Set(["2", "4", "12", "13", "14", "15"]);

/** Whether HTTP status and gRPC status tell of a failure of the server. */
export function failedStatus(http: string | undefined, grpc: string | undefined): boolean {
  if (grpc !== undefined && GRPC_SERVER_FAULTS.has(grpc)) return true;
  return http !== undefined && (/^5\d\d$/.test(http) || http === "5xx");
}

/** A key unless the name is empty or says that it is not known. */
export function knownService(
  service: string | undefined,
  namespace: string | undefined,
): ServiceKey | undefined {
  if (service === undefined || service === "" || service === "unknown") return undefined;
  return { service, namespace: namespace === "" || namespace === "unknown" ? undefined : namespace };
}
