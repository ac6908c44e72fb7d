import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { EndpointHealth, EndpointState } from "@tradewind/core/net/endpoint/health.ts";

const STATES: readonly EndpointState[] = ["untried", "ok", "failing", "open"];

/** What is read of each outside server, by the name after `tradewind_source_`; undefined: no series. */
const VALUES: readonly (readonly [
  kind: "counter" | "gauge",
  name: string,
  help: string,
  value: (health: EndpointHealth) => number | undefined,
])[] = [
  ["counter", "requests_total", "Calls to an outside server, every attempt.", (h) => h.requestsTotal],
  ["counter", "retries_total", "Attempts after the first.", (h) => h.retriesTotal],
  ["counter", "received_bytes_total", "Bytes of answers received.", (h) => h.receivedBytesTotal],
  [
    "counter",
    "partial_results_total",
    "Answers of which a part was unusable or missing and was left out.",
    (h) => h.partialResultsTotal,
  ],
  ["counter", "warnings_total", "Warnings a server attached to its answers.", (h) => h.warningsTotal],
  ["gauge", "latency_seconds", "Smoothed time of a successful call.", (h) => h.latencySeconds],
  [
    "gauge",
    "last_success_timestamp_seconds",
    "When the server last answered, seconds since the epoch.",
    (h) => (h.lastSuccessAtMs === undefined ? undefined : h.lastSuccessAtMs / 1_000),
  ],
  [
    "gauge",
    "clock_skew_seconds",
    "The server's clock less ours, from its Date header, known to about a second.",
    (h) => h.clockSkewSeconds,
  ],
];

/**
 * Publishes how every outside server has been answering. Values are read when scraped; nothing is called.
 * Labels are bounded by the configuration: the endpoint's name and kind.
 */
export function registerEndpointMetrics(
  registry: Registry,
  endpoints: () => readonly EndpointHealth[],
): void {
  const labelNames = ["source", "kind"];
  registerReadMetrics(registry, { Counter, Gauge }, [
    ...VALUES.map(
      ([kind, name, help, valueOf]) =>
        ({
          kind,
          name: `tradewind_source_${name}`,
          help,
          labelNames,
          read: () =>
            endpoints().flatMap((health) => {
              const value = valueOf(health);
              return value === undefined
                ? []
                : [[{ source: health.name, kind: health.kind }, value] as const];
            }),
        }) as const,
    ),
    {
      kind: "gauge",
      name: "tradewind_source_state",
      help: "1 for the state an outside server is in; open means the circuit breaker holds calls back.",
      labelNames: [...labelNames, "state"],
      read: () =>
        endpoints().flatMap(({ name: source, kind, state: current }) =>
          STATES.map((state) => [{ source, kind, state }, Number(state === current)] as const),
        ),
    },
    {
      kind: "counter",
      name: "tradewind_source_failures_total",
      help: "Calls that gave no usable answer, by what went wrong.",
      labelNames: [...labelNames, "failure"],
      read: () =>
        endpoints().flatMap(({ failuresTotal, kind, name: source }) =>
          Object.entries(failuresTotal).map(
            ([failure, count]) => [{ source, kind, failure }, count] as const,
          ),
        ),
    },
  ]);
}
