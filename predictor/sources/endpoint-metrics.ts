import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { EndpointHealth, EndpointState } from "@tradewind/core/net/endpoint/health.ts";

const STATES: readonly EndpointState[] = ["untried", "ok", "failing", "open"];
const LABELS = ["source", "kind"] as const;

/**
 * Publishes how every outside server has been answering. Values are read when scraped; nothing is called.
 * Labels are bounded by the configuration: the endpoint's name and kind.
 */
export function registerEndpointMetrics(
  registry: Registry,
  endpoints: () => readonly EndpointHealth[],
): void {
  const labels = ({ name, kind }: EndpointHealth): { source: string; kind: string } => ({
    source: name,
    kind,
  });
  const counter = (name: string, help: string, value: (health: EndpointHealth) => number): void => {
    const metric = new Counter({
      name,
      help,
      labelNames: LABELS,
      registers: [registry],
      collect() {
        this.reset();
        for (const health of endpoints()) this.inc(labels(health), value(health));
      },
    });
    metric.reset();
  };
  const gauge = (name: string, help: string, value: (health: EndpointHealth) => number | undefined): void => {
    const metric = new Gauge({
      name,
      help,
      labelNames: LABELS,
      registers: [registry],
      collect() {
        this.reset();
        for (const health of endpoints()) {
          const current = value(health);
          if (current !== undefined) this.set(labels(health), current);
        }
      },
    });
    metric.reset();
  };

  counter(
    "tradewind_source_requests_total",
    "Calls to an outside server, every attempt.",
    (h) => h.requestsTotal,
  );
  counter("tradewind_source_retries_total", "Attempts after the first.", (h) => h.retriesTotal);
  counter("tradewind_source_received_bytes_total", "Bytes of answers received.", (h) => h.receivedBytesTotal);
  counter(
    "tradewind_source_partial_results_total",
    "Answers of which a part was unusable or missing and was left out.",
    (h) => h.partialResultsTotal,
  );
  counter(
    "tradewind_source_warnings_total",
    "Warnings a server attached to its answers.",
    (h) => h.warningsTotal,
  );
  gauge("tradewind_source_latency_seconds", "Smoothed time of a successful call.", (h) => h.latencySeconds);
  gauge(
    "tradewind_source_last_success_timestamp_seconds",
    "When the server last answered, seconds since the epoch.",
    (h) => (h.lastSuccessAtMs === undefined ? undefined : h.lastSuccessAtMs / 1_000),
  );
  gauge(
    "tradewind_source_clock_skew_seconds",
    "The server's clock less ours, from its Date header, known to about a second.",
    (h) => h.clockSkewSeconds,
  );
  registerState(registry, endpoints);
  registerFailures(registry, endpoints);
}

function registerState(registry: Registry, endpoints: () => readonly EndpointHealth[]): void {
  const state = new Gauge({
    name: "tradewind_source_state",
    help: "1 for the state an outside server is in; open means the circuit breaker holds calls back.",
    labelNames: [...LABELS, "state"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, kind, state: current } of endpoints()) {
        for (const each of STATES) this.set({ source: name, kind, state: each }, each === current ? 1 : 0);
      }
    },
  });
  state.reset();
}

function registerFailures(registry: Registry, endpoints: () => readonly EndpointHealth[]): void {
  const failures = new Counter({
    name: "tradewind_source_failures_total",
    help: "Calls that gave no usable answer, by what went wrong.",
    labelNames: [...LABELS, "failure"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, kind, failuresTotal } of endpoints()) {
        for (const [failure, count] of Object.entries(failuresTotal)) {
          this.inc({ source: name, kind, failure }, count);
        }
      }
    },
  });
  failures.reset();
}
