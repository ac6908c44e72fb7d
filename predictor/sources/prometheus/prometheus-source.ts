import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { Finding, ResourceSource, WindowSource } from "../source.ts";
import type { Interval } from "../../window/interval.ts";
import { NO_RESOURCES } from "../../window/resources.ts";
import type { ResourceView } from "../../window/resources.ts";
import { checkPrometheus } from "./check.ts";
import { PrometheusClient } from "./client.ts";
import { detectMapping } from "./detection.ts";
import type { Detected } from "./detection.ts";
import { entryFlow } from "./flow.ts";
import type { Grid } from "./grid.ts";
import { singleWindow, windowEndMs } from "./grid.ts";
import type { PrometheusOptions } from "./options.ts";
import { RateReader } from "./rates.ts";
import { readRed } from "./red.ts";
import { readResources, resourceView } from "./resources.ts";
import { windowsOf } from "./windows.ts";

/** What the application configuration says that metrics do not. */
export interface PrometheusContext {
  /** Services of other namespaces are left out, however many the server knows. */
  readonly namespace: string;
  /** As of now: it may change. */
  readonly entry: () => string | undefined;
}

const DETECTION_LIFE_MS = 600_000;
/** Of the 16 connections to a server: the others are for the windows of now. */
const MOST_QUESTIONS_OF_THE_PAST = 8;

/** Windows and resources from a Prometheus-compatible server. */
export class PrometheusSource implements WindowSource, ResourceSource {
  readonly name: string;
  readonly endpoint: EndpointClient;
  readonly client: PrometheusClient;
  /** For the past: its questions take long, and those about a window must not wait their turn behind them. */
  private readonly pastClient: PrometheusClient;
  readonly graceSeconds: number;
  readonly options: PrometheusOptions;
  private readonly context: PrometheusContext;
  private detected: { readonly what: Detected; readonly atMs: number } | undefined;

  constructor(options: PrometheusOptions, context: PrometheusContext, settings: ClientSettings = {}) {
    const { url, basicAuth, bearerTokenFile, tls, headers, timeoutSeconds, maxAttempts, maxResponseBytes } =
      options;
    this.name = options.name;
    this.options = options;
    this.context = context;
    this.graceSeconds = options.graceSeconds;
    this.endpoint = new EndpointClient(
      options.name,
      // One that is asked for containers only tells of no load, and an alert goes by that.
      options.metrics === "none" ? "prometheus-resources" : "prometheus",
      { url, basicAuth, bearerTokenFile, tls, headers, timeoutSeconds, maxAttempts, maxResponseBytes },
      settings,
    );
    this.client = new PrometheusClient(this.endpoint, options.concurrency);
    this.pastClient = new PrometheusClient(
      this.endpoint,
      Math.min(options.concurrency, MOST_QUESTIONS_OF_THE_PAST),
    );
  }

  async windows(interval: Interval, resources: ResourceView, signal?: AbortSignal): Promise<WindowSet> {
    const grid = singleWindow(interval.startMs, interval.endMs);
    const detected = await this.detect(interval.endMs, signal);
    const [set] = await this.red(this.client, grid, detected, (): ResourceView => resources, signal);
    return set ?? { ...interval, windows: [], flows: [] };
  }

  async resources({ startMs, endMs }: Interval, signal?: AbortSignal): Promise<ResourceView> {
    const reading = await this.readResources(this.client, singleWindow(startMs, endMs), signal);
    return resourceView(reading, 0, this.context.namespace);
  }

  /**
   * Windows of many intervals at once, for backfill: the server forms the rates, of the metrics that exist now.
   * Intervals of which nothing is known have an empty set.
   */
  async history(
    grid: Grid,
    nowMs: number,
    signal?: AbortSignal,
  ): Promise<{ readonly sets: readonly WindowSet[]; readonly samples: number }> {
    const detected = await this.detect(nowMs, signal);
    const client = this.pastClient;
    const resources = this.options.resources ? await this.readResources(client, grid, signal) : undefined;
    const at = (index: number): ResourceView =>
      resources === undefined ? NO_RESOURCES : resourceView(resources, index, this.context.namespace);
    const samplesBefore = client.samplesReceived;
    const sets = await this.red(client, grid, detected, at, signal);
    return { sets, samples: client.samplesReceived - samplesBefore };
  }

  async check(nowMs: number, signal?: AbortSignal): Promise<Finding[]> {
    return checkPrometheus(this, nowMs, signal);
  }

  /** Which metrics are in use; looked up again every ten minutes. @throws TradewindError `no-series` */
  async detect(nowMs: number, signal?: AbortSignal): Promise<Detected> {
    if (this.detected !== undefined && Math.abs(nowMs - this.detected.atMs) < DETECTION_LIFE_MS) {
      return this.detected.what;
    }
    const what = await detectMapping(this.client, this.options, nowMs, signal);
    this.detected = { what, atMs: nowMs };
    return what;
  }

  async close(): Promise<void> {
    await this.endpoint.close();
  }

  private async red(
    client: PrometheusClient,
    grid: Grid,
    { mapping, seriesCount }: Detected,
    resources: (index: number) => ResourceView,
    signal: AbortSignal | undefined,
  ): Promise<WindowSet[]> {
    const { namespace } = this.context;
    const strategy = this.strategy(grid, seriesCount);
    const reading = await readRed(this.reader(client, strategy), mapping, grid, namespace, signal);
    if (reading.leftOut > 0) this.endpoint.health.partialResultsTotal += 1;
    const entry = this.context.entry();
    const sets: WindowSet[] = [];
    for (let index = 0; index < grid.count; index += 1) {
      const endMs = windowEndMs(grid, index);
      const windows = windowsOf(reading, index, { namespace, resources: resources(index) }).filter(
        (window) => window.namespace === namespace,
      );
      const flow = entry === undefined ? undefined : entryFlow(windows, entry);
      sets.push({ startMs: endMs - grid.stepMs, endMs, windows, flows: flow === undefined ? [] : [flow] });
    }
    return sets;
  }

  private strategy(grid: Grid, seriesCount: number): "samples" | "server" {
    if (grid.count > 1) return "server";
    const { strategy, maxSampledSeries } = this.options;
    if (strategy !== "auto") return strategy;
    return seriesCount <= maxSampledSeries ? "samples" : "server";
  }

  private reader(client: PrometheusClient, strategy: "samples" | "server"): RateReader {
    const { scrapeIntervalSeconds, lookbackSeconds } = this.options;
    return new RateReader(client, {
      strategy,
      scrapeIntervalMs: scrapeIntervalSeconds * 1_000,
      lookbackMs: lookbackSeconds * 1_000,
    });
  }

  private async readResources(
    client: PrometheusClient,
    grid: Grid,
    signal: AbortSignal | undefined,
  ): ReturnType<typeof readResources> {
    const { namespaces, scrapeIntervalSeconds } = this.options;
    const settings = { namespaces, scrapeIntervalMs: scrapeIntervalSeconds * 1_000 };
    const reading = await readResources(this.reader(client, "server"), grid, settings, signal);
    if (reading.leftOut > 0) this.endpoint.health.partialResultsTotal += 1;
    return reading;
  }
}
