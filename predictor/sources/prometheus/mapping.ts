import { meshlessName } from "../../window/mesh-name.ts";
import type { Labels } from "./api.ts";
import type { CounterQuery, RateQuery } from "./rates.ts";

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
  /** Counter of requests; absent where the histogram counts them itself. */
  readonly requestsMetric?: string | undefined;
  /** Name of the histogram without `_bucket`, `_sum`, `_count`; a native one exists by this name alone. */
  readonly latencyMetric: string;
  /** What one unit of the histogram is worth; absent where the name does not say, and its bounds do. */
  readonly unitSeconds?: number | undefined;
  readonly mapping: (form: HistogramForm) => RedMapping;
}

export interface HistogramForm {
  readonly isNative: boolean;
  readonly unitSeconds: number;
}

type Stored = Omit<CounterQuery, "kind" | "metric">;

/** A histogram of the requests that `stored` describes, in its classic or native form. */
export function latencyQuery(
  base: string,
  { isNative, unitSeconds }: HistogramForm,
  stored: Stored,
): LatencyQuery {
  if (isNative) return { native: { kind: "counter", metric: base, ...stored }, unitSeconds };
  return {
    buckets: { kind: "counter", metric: `${base}_bucket`, ...stored, by: [...stored.by, "le"] },
    sum: { kind: "counter", metric: `${base}_sum`, ...stored },
    unitSeconds,
  };
}

/** Number or sum of the observations of a histogram. */
export function partQuery(
  part: "count" | "sum",
  base: string,
  { isNative }: Pick<HistogramForm, "isNative">,
  stored: Stored,
): RateQuery {
  return isNative
    ? { kind: "histogram", part, metric: base, ...stored }
    : { kind: "counter", metric: `${base}_${part}`, ...stored };
}

/** gRPC status codes that are the server's fault (OpenTelemetry semantic conventions for RPC spans), by number and by name. */
const GRPC_SERVER_FAULTS = new Set(
  "2 4 12 13 14 15 UNKNOWN DEADLINE_EXCEEDED UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS".split(" "),
);

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

/** The service if it is of this namespace, as those are that say no other. */
export function placedService(
  { namespace: own, service }: ServiceKey,
  namespace: string,
): ServiceKey | undefined {
  if (own !== undefined && own !== namespace) return undefined;
  return { service: meshlessName(service, namespace), namespace };
}
