import { failedStatus } from "../../prometheus/mapping.ts";
import type { SpanResource } from "../../../window/span.ts";
import type { Distribution } from "./distribution.ts";

/** What a histogram of durations is about: requests that a service answered, or calls that it waited for. */
export type DurationRole = "called" | "served";

/** One point of a histogram of durations: what a process measured for one set of attributes. */
export interface DurationPoint {
  readonly resource: SpanResource;
  readonly role: DurationRole;
  /** Names metric and attributes, the same at each export. */
  readonly series: string;
  /** Counts begin anew at each export. */
  readonly isDelta: boolean;
  /** Since when it counts; 0 where its sender does not say. ms since the epoch */
  readonly startMs: number;
  readonly endMs: number;
  readonly failed: boolean;
  /** Whom the calls went to. */
  readonly peer: string | undefined;
  /** What was asked for, as a path; undefined where the sender does not say. */
  readonly route: string | undefined;
  /** In seconds. */
  readonly measured: Distribution;
}

/** A histogram with more says nothing that one with fewer does not; SDKs have 160 at most. */
export const MAX_BUCKETS = 400;

/** Longer names of attributes are none of those that are read. */
export const MAX_KEY_BYTES = 32;

interface DurationMetric {
  readonly role: DurationRole;
  /** Of a metric that does not name its unit. */
  readonly unitSeconds: number;
}

const SERVED = { role: "served", unitSeconds: 1 } as const;
const CALLED = { role: "called", unitSeconds: 1 } as const;
const MILLISECONDS = { unitSeconds: 1e-3 } as const;

/** Names of the semantic conventions; those in milliseconds are of the years before they were stable. */
const METRICS = new Map<string, DurationMetric>([
  ["http.server.request.duration", SERVED],
  ["http.server.duration", { ...SERVED, ...MILLISECONDS }],
  ["rpc.server.call.duration", SERVED],
  ["rpc.server.duration", { ...SERVED, ...MILLISECONDS }],
  ["http.client.request.duration", CALLED],
  ["http.client.duration", { ...CALLED, ...MILLISECONDS }],
  ["rpc.client.call.duration", CALLED],
  ["rpc.client.duration", { ...CALLED, ...MILLISECONDS }],
  ["db.client.operation.duration", CALLED],
]);

const UNITS = new Map([
  ["s", 1],
  ["ms", 1e-3],
  ["us", 1e-6],
  ["ns", 1e-9],
]);

/** What a metric measures; undefined for every other than durations of requests and calls. */
export function durationMetric(name: string, unit: string): DurationMetric | undefined {
  const metric = METRICS.get(name);
  return metric && { ...metric, unitSeconds: UNITS.get(unit) ?? metric.unitSeconds };
}

const PEER_KEYS = ["peer.service", "server.address", "net.peer.name"];

/** Gathers what is read of the attributes of one point. */
export class PointAttributes {
  private readonly values = new Map<string, string>();

  clear(): void {
    this.values.clear();
  }

  take(key: string, value: string): void {
    if (value !== "") this.values.set(key, value);
  }

  /** A status of the server's fault, or an error that the conventions ask a sender to name. */
  get failed(): boolean {
    const { values } = this;
    const http = values.get("http.response.status_code") ?? values.get("http.status_code");
    if (failedStatus(http, values.get("rpc.grpc.status_code"))) return true;
    return http === undefined && values.has("error.type");
  }

  get route(): string | undefined {
    const { values } = this;
    const [service, method] = [values.get("rpc.service"), values.get("rpc.method")];
    return values.get("http.route") ?? (service && method && `/${service}/${method}`);
  }

  get peer(): string | undefined {
    return PEER_KEYS.map((key) => this.values.get(key)).find((value) => value !== undefined);
  }
}

/** The attributes that {@link PointAttributes} reads. */
export const POINT_KEYS: ReadonlySet<string> = new Set([
  "http.response.status_code",
  "http.status_code",
  "rpc.grpc.status_code",
  "error.type",
  "http.route",
  "rpc.service",
  "rpc.method",
  ...PEER_KEYS,
]);
