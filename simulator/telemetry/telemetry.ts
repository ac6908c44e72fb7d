import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { resourceView } from "@tradewind/predictor/sources/resources.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Agenda } from "../engine/agenda.ts";
import { uniformOf } from "../engine/random.ts";
import type { SpanFacts } from "../engine/recorder.ts";
import type { TelemetryModel } from "../model/plant-model.ts";
import type { ControlFaults, Span } from "../world.ts";
import { Metrics } from "./metrics.ts";
import { SpanCollector } from "./span-collector.ts";

/** Spans that end within this time travel together. */
const BATCH_MS = 1_000;
/** How often agents read containers. */
const READ_MS = 5_000;
const SCRAPE_SECONDS = 15;
/** Capacity of a builder for a large application at full sampling. */
const SPANS_HELD = 4_000_000;

export interface TelemetryParts {
  readonly model: TelemetryModel;
  readonly faults: ControlFaults;
  readonly cluster: Cluster;
  readonly agenda: Agenda;
  /** Names of the services. */
  readonly services: readonly string[];
  readonly namespace: string;
  /** Start of the run, ms since the Unix epoch. */
  readonly startMs: number;
  readonly windowSeconds: number;
  readonly now: () => number;
}

/** How requests and containers become windows: spans with their delay through the real builder, counters by readings. */
export class Telemetry {
  readonly metrics: Metrics;
  private readonly parts: TelemetryParts;
  private readonly builder: WindowBuilder;
  private readonly collector: SpanCollector;

  constructor(parts: TelemetryParts) {
    const { cluster, model, namespace, services, startMs, windowSeconds } = parts;
    const { sampledRatio, statesRatio = true } = model;
    this.parts = parts;
    this.metrics = new Metrics(cluster);
    const says = statesRatio && sampledRatio > 0 ? 1 / sampledRatio : 0;
    this.collector = new SpanCollector(services, startMs, says);
    this.builder = new WindowBuilder({
      windowSeconds,
      namespace,
      maxOpenSpans: SPANS_HELD,
      ...(sampledRatio > 0 && { assumedSamplingRatio: sampledRatio }),
    });
    if (sampledRatio > 0) this.every(BATCH_MS, () => this.deliver());
    this.every(READ_MS, () => {
      if (!this.isIn(parts.faults.metricOutages)) this.metrics.read(parts.now());
    });
    this.every(1e3 * (model.scrapeSeconds ?? SCRAPE_SECONDS), () => this.scrape());
  }

  keeps(hash: number): boolean {
    return uniformOf(hash) < this.parts.model.sampledRatio;
  }

  span(span: SpanFacts): void {
    this.collector.add(span);
  }

  /** @param workloads as the platform declares them now */
  windowSet(startMs: number, endMs: number, workloads: WorkloadList): WindowSet {
    const { faults, now, startMs: epochMs } = this.parts;
    const uses = this.metrics.uses(startMs - epochMs, endMs - epochMs);
    const nowMs = epochMs + now();
    const view = resourceView(workloads, uses, { startMs, endMs }, nowMs);
    const set = this.builder.build(startMs, endMs, view, nowMs);
    const isBad = faults.nanWindows.some(
      ({ endSeconds, startSeconds }) =>
        startMs - epochMs < 1e3 * endSeconds && endMs - epochMs > 1e3 * startSeconds,
    );
    return isBad ? { ...set, windows: set.windows.map((window) => poisoned(window)) } : set;
  }

  /** Whether it is that time of the run. */
  isIn(spans: readonly Span[]): boolean {
    const seconds = this.parts.now() / 1e3;
    return spans.some(({ endSeconds, startSeconds }) => seconds >= startSeconds && seconds < endSeconds);
  }

  private deliver(): void {
    const { agenda, faults, model, now, startMs } = this.parts;
    const batch = this.collector.take(now());
    if (batch.length === 0 || this.isIn(faults.traceOutages)) {
      this.collector.giveBack(batch);
      return;
    }
    agenda.at(now() + 1e3 * model.spanDelaySeconds, () => {
      this.builder.add(batch, startMs + now());
      this.collector.giveBack(batch);
    });
  }

  private scrape(): void {
    const { cluster, faults, now } = this.parts;
    cluster.retrySizes();
    if (this.isIn(faults.metricOutages)) {
      this.metrics.forget();
      return;
    }
    this.metrics.scrape(now());
  }

  /** At the start of the run and then at multiples of the period. */
  private every(periodMs: number, run: () => void, atMs = 0): void {
    this.parts.agenda.at(atMs, () => {
      run();
      this.every(periodMs, run, atMs + periodMs);
    });
  }
}

/** A window as a source without checks would give it when its queries answer NaN. */
function poisoned(window: Window): Window {
  const nan = <Value extends object>(value: Value): Value =>
    Object.fromEntries(Object.keys(value).map((name) => [name, NaN])) as Value;
  const { errorRatio, ownLatency, requestsPerSecond, responseLatency } = window;
  return {
    ...window,
    ...(requestsPerSecond !== undefined && { requestsPerSecond: NaN }),
    ...(errorRatio !== undefined && { errorRatio: NaN }),
    ...(ownLatency !== undefined && { ownLatency: nan(ownLatency) }),
    ...(responseLatency !== undefined && { responseLatency: nan(responseLatency) }),
    containers: window.containers.map((container) => ({
      ...container,
      ...(container.cpuUsageCores !== undefined && { cpuUsageCores: NaN }),
      ...(container.memoryWorkingSetBytes !== undefined && { memoryWorkingSetBytes: NaN }),
    })),
  };
}
