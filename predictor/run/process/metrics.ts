import type { ConnectionCounts } from "@tradewind/core/net/connection-limits.ts";
import { registerProcessSeries } from "@tradewind/core/process/process-series.ts";
import { registerTlsSeries } from "@tradewind/core/net/tls-series.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { Counter, Gauge, Registry } from "prom-client";
import { ConnectionMetrics } from "../../sources/otlp/connection-metrics.ts";
import type { ReceiverMetrics, Transport } from "../../sources/otlp/metrics.ts";
import type { RefusalReason } from "../../sources/otlp/refusal.ts";

/** Metrics of the predictor as a process; those of what it plans are {@link ApplicationMetrics}. Values are set when things happen. */
export class PredictorMetrics implements ReceiverMetrics {
  readonly registry = new Registry();
  /** The observer of a port's certificates. */
  readonly tls = registerTlsSeries(this.registry, { Counter, Gauge });
  private readonly receiverConnections: ConnectionMetrics;

  private readonly receiverRequests = this.counter(
    "otlp_requests_total",
    "OTLP export requests, by transport and answer.",
    ["transport", "code"],
  );
  private readonly receiverRefusals = this.counter(
    "otlp_refused_total",
    "OTLP export requests answered with an error, by transport and reason.",
    ["transport", "reason"],
  );
  private readonly receiverBytes = this.counter(
    "otlp_received_bytes_total",
    "Bytes of accepted OTLP bodies after decompression.",
    ["transport"],
  );
  private readonly receiverSpans = this.counter("spans_total", "Spans offered, by what became of them.", [
    "result",
  ]);
  private readonly durationPoints = this.counter(
    "duration_points_total",
    "Points of pushed histograms of request durations, by what became of them.",
    ["result"],
  );
  private readonly discardedMetrics = this.counter(
    "otlp_metrics_discarded_total",
    "Pushed metrics that are no histograms of request durations.",
  );
  private readonly discardedLogs = this.counter(
    "otlp_logs_discarded_bytes_total",
    "Bytes of pushed logs as they were sent; none is read.",
  );
  private readonly workloadReads = this.counter("workloads_reads_total", "Reads of the workloads file.", [
    "result",
  ]);
  private readonly measurementDrops = this.counter(
    "measurements_dropped_total",
    "Readings of containers that were not used, by reason.",
    ["reason"],
  );
  private readonly clockSteps = this.counter(
    "clock_step_seconds_total",
    "Seconds by which the wall clock was set while this process ran.",
    ["direction"],
  );
  private readonly stateErrors = this.counter(
    "state_errors_total",
    "Failures to read or write the policies' state.",
  );

  constructor() {
    this.gauge("build_info", "1, with the version of this build.", ["version"]).set({ version: VERSION }, 1);
    this.receiverConnections = new ConnectionMetrics(this.registry);
    registerProcessSeries(this.registry, { Counter, Gauge });
    this.stateErrors.inc(0);
    for (const result of ["accepted", "rejected"]) {
      this.receiverSpans.inc({ result }, 0);
      this.durationPoints.inc({ result }, 0);
    }
    for (const direction of ["forward", "back"]) this.clockSteps.inc({ direction }, 0);
  }

  request(transport: Transport, code: string): void {
    this.receiverRequests.inc({ transport, code });
  }

  refused(transport: Transport, reason: RefusalReason): void {
    this.receiverRefusals.inc({ transport, reason });
  }

  connections(transport: Transport, counts: () => ConnectionCounts): void {
    this.receiverConnections.follow(transport, counts);
  }

  spans(accepted: number, rejected: number): void {
    this.receiverSpans.inc({ result: "accepted" }, accepted);
    this.receiverSpans.inc({ result: "rejected" }, rejected);
  }

  durations({ accepted, discarded, rejected }: Parameters<ReceiverMetrics["durations"]>[0]): void {
    this.durationPoints.inc({ result: "accepted" }, accepted);
    this.durationPoints.inc({ result: "rejected" }, rejected);
    this.discardedMetrics.inc(discarded);
  }

  logs(bytes: number): void {
    this.discardedLogs.inc(bytes);
  }

  bytes(transport: Transport, count: number): void {
    this.receiverBytes.inc({ transport }, count);
  }

  clockStepped(stepMs: number): void {
    this.clockSteps.inc({ direction: stepMs > 0 ? "forward" : "back" }, Math.abs(stepMs) / 1e3);
  }

  workloadsRead(result: "ok" | "error"): void {
    this.workloadReads.inc({ result });
  }

  measurementDropped(reason: string): void {
    this.measurementDrops.inc({ reason });
  }

  stateFailed(): void {
    this.stateErrors.inc();
  }

  private counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    return new Counter({ name: `tradewind_predictor_${name}`, help, labelNames, registers: [this.registry] });
  }

  private gauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
    return new Gauge({ name: `tradewind_predictor_${name}`, help, labelNames, registers: [this.registry] });
  }
}
