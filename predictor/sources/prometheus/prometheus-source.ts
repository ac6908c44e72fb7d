import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { withoutTraffic } from "../combine-windows.ts";
import type { Finding, ResourceSource, WindowSource } from "../source.ts";
import type { Interval } from "../../window/interval.ts";
import { NO_RESOURCES } from "../../window/resources.ts";
import type { ResourceView } from "../../window/resources.ts";
import { checkPrometheus } from "./check.ts";
import { PrometheusClient } from "./client.ts";
import { detectMapping, scopeOf } from "./detection.ts";
import type { Detected } from "./detection.ts";
import { entryFlow } from "./flow.ts";
import type { Grid } from "./grid.ts";
import { singleWindow, windowEndMs } from "./grid.ts";
import { placedService } from "./mapping.ts";
import type { PrometheusOptions } from "./options.ts";
import { RateReader, SCRAPES_PER_WINDOW } from "./rates.ts";
import type { CounterQuery, RateSettings, SampledSeries } from "./rates.ts";
import { readRed } from "./red.ts";
import { cpuCounters, readResources, resourceView } from "./resources.ts";
import { ScrapedPods } from "./scraped-pods.ts";
import { copiesRemark, mixedRemark, mixedWords, NOTHING_FOUND, placesRemark, surveyOf } from "./survey.ts";
import type { Remark, Survey } from "./survey.ts";
import { windowsOf } from "./windows.ts";

/** What the application configuration says that metrics do not. */
export interface PrometheusContext {
  /** Services of other namespaces are left out, however many the server knows. */
  readonly namespace: string;
  /** As of now: it may change. */
  readonly entries: () => readonly string[];
}

interface RedQuestion {
  readonly client: PrometheusClient;
  readonly grid: Grid;
  readonly detected: Detected;
  readonly read?: RateSettings["read"];
}

const DETECTION_LIFE_MS = 600_000;
const RESOURCE_SURVEY_LIFE_MS = 60_000;
/** Counters are looked at over so long a time until it is known how often they are scraped. */
const FIRST_LOOK_MS = 300_000;
const LONGEST_LOOK_MS = 900_000;
/** Characters of what is missing of a window. */
const MOST_WORDS = 240;
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
  private survey: Survey = NOTHING_FOUND;
  private resourceSurvey: Survey = NOTHING_FOUND;
  private resourcesSurveyedAtMs = Number.NEGATIVE_INFINITY;
  /** Services whose rate was known lately, and the end of the last window in which it was. */
  private readonly toldMs = new Map<string, number>();
  private readonly scraped = new ScrapedPods();
  private detected: { readonly what: Detected; readonly atMs: number } | undefined;

  constructor(options: PrometheusOptions, context: PrometheusContext, settings: ClientSettings = {}) {
    this.name = options.name;
    this.options = options;
    this.context = context;
    this.graceSeconds = options.graceSeconds;
    this.endpoint = new EndpointClient(
      options.name,
      // One that is asked for containers only tells of no load, and an alert goes by that.
      options.metrics === "none" ? "prometheus-resources" : "prometheus",
      options,
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
    const read = await this.look(detected, grid, signal);
    const at = (): ResourceView => resources;
    const [set] = await this.red({ client: this.client, grid, detected, read }, at, signal);
    return this.withLacking(set ?? { ...interval, windows: [], flows: [] }, detected);
  }

  async resources({ startMs, endMs }: Interval, signal?: AbortSignal): Promise<ResourceView> {
    const grid = singleWindow(startMs, endMs);
    await this.lookAtResources(grid, signal);
    const reading = await this.readResources(this.client, grid, signal);
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
    const present = singleWindow(detected.lastMs - grid.stepMs, detected.lastMs);
    if (this.survey === NOTHING_FOUND) await this.look(detected, present, signal);
    if (this.options.resources) await this.lookAtResources(present, signal);
    const resources = this.options.resources ? await this.readResources(client, grid, signal) : undefined;
    const at = (index: number): ResourceView =>
      resources === undefined ? NO_RESOURCES : resourceView(resources, index, this.context.namespace);
    const samplesBefore = client.samplesReceived;
    const sets = await this.red({ client, grid, detected }, at, signal);
    return { sets, samples: client.samplesReceived - samplesBefore };
  }

  async check(nowMs: number, signal?: AbortSignal): Promise<Finding[]> {
    return checkPrometheus(this, nowMs, signal);
  }

  /**
   * Which metrics are in use; looked up again every ten minutes.
   * @param sinceMs metrics may have ended since then; default: they are there now
   * @throws TradewindError `no-series`
   */
  async detect(nowMs: number, signal?: AbortSignal, sinceMs = nowMs): Promise<Detected> {
    if (this.detected !== undefined && Math.abs(nowMs - this.detected.atMs) < DETECTION_LIFE_MS) {
      return this.detected.what;
    }
    const { client, options } = this;
    const wanted = { options, namespace: this.context.namespace, entries: this.context.entries() };
    const what = await detectMapping(
      client,
      this.reader(client, "server", this.survey),
      wanted,
      { startMs: sinceMs, endMs: nowMs },
      signal,
    );
    this.detected = { what, atMs: nowMs };
    return what;
  }

  /**
   * Looks at the stored counters of requests: how often they are scraped, and whether each is one.
   * @returns what was read; undefined where that is not the counters' samples
   * @throws TradewindError `several-clusters`
   */
  async look(
    { mapping: { requests, service }, requestSeries }: Detected,
    grid: Grid,
    signal?: AbortSignal,
  ): Promise<RateSettings["read"]> {
    const { maxSampledSeries } = this.options;
    if (requests.kind !== "counter" || requestSeries > maxSampledSeries) return undefined;
    const { namespace } = this.context;
    const series = await this.sampled(requests, grid, signal).catch(unlessRefused);
    const counters = series?.flatMap((each) => {
      const key = service(each.labels);
      const own = key && placedService(key, namespace);
      return own === undefined ? [] : [{ ...each, service: own.service }];
    });
    if (series === undefined || counters === undefined) return undefined;
    const kind = { identifying: requests.by };
    this.survey = surveyOf(counters, kind, this.survey, Object.keys(this.options.matchers));
    this.refuseSeveralPlaces(this.survey);
    this.scraped.note(counters);
    this.scraped.forget(windowEndMs(grid, 0));
    return { query: requests, series };
  }

  /** The same of what containers use, by their CPU time. @throws TradewindError `several-clusters` */
  async lookAtResources(grid: Grid, signal?: AbortSignal): Promise<void> {
    const sinceMs = windowEndMs(grid, 0) - this.resourcesSurveyedAtMs;
    if (Math.abs(sinceMs) >= RESOURCE_SURVEY_LIFE_MS) {
      const question = cpuCounters(this.context.namespace);
      const series = (await this.sampled(question, grid, signal).catch(unlessRefused)) ?? [];
      const counters = series.map(({ labels, samples }) => ({
        labels,
        service: labels["namespace"] ?? "",
        samples: { ...samples, values: samples.values.map((seconds) => 1_000 * seconds) },
      }));
      const kind = { identifying: [] };
      const settled = Object.keys(this.options.matchers);
      this.resourceSurvey = surveyOf(counters, kind, this.resourceSurvey, settled);
      this.resourcesSurveyedAtMs = windowEndMs(grid, 0);
    }
    this.refuseSeveralPlaces(this.resourceSurvey);
  }

  /** What is to be said of the stored series, though windows are made of them. */
  remarks(): readonly Remark[] {
    const requests = this.detected?.what.mapping.requests;
    const mixed = requests?.kind === "counter" ? mixedRemark(this.survey, requests.metric) : undefined;
    return [copiesRemark(this.survey) ?? copiesRemark(this.resourceSurvey), mixed].filter(
      (remark) => remark !== undefined,
    );
  }

  /** Between two samples of a series: measured, or what the options say. */
  get scrapeIntervalMs(): number {
    return this.survey.intervalMs ?? this.options.scrapeIntervalSeconds * 1_000;
  }

  async close(): Promise<void> {
    await this.endpoint.close();
  }

  private async red(
    { client, detected, grid, read }: RedQuestion,
    resources: (index: number) => ResourceView,
    signal: AbortSignal | undefined,
  ): Promise<WindowSet[]> {
    const { namespace } = this.context;
    const { mapping } = detected;
    const strategy = this.strategy(grid, detected);
    const reader = this.reader(client, strategy, this.survey, read);
    const reading = await readRed(reader, mapping, grid, namespace, signal);
    if (reading.leftOut > 0) this.endpoint.health.partialResultsTotal += 1;
    const entries = this.context.entries();
    const sets: WindowSet[] = [];
    for (let index = 0; index < grid.count; index += 1) {
      const endMs = windowEndMs(grid, index);
      const windows = windowsOf(reading, index, { namespace, resources: resources(index) })
        .filter((window) => window.namespace === namespace)
        .map((window) => (this.survey.mixed.has(window.service) ? withoutTraffic(window) : window));
      const flows = entries.flatMap((entry) => entryFlow(windows, entry) ?? []);
      sets.push({ startMs: endMs - grid.stepMs, endMs, windows, flows });
    }
    return sets;
  }

  /** The set with what is missing: of services that were known lately, and of those whose counters are none. */
  private withLacking(set: WindowSet, { mapping: { requests } }: Detected): WindowSet {
    const { endMs, startMs } = set;
    const metric = requests.kind === "expression" ? "requestsPerSecond" : requests.metric;
    const words = new Map<string, string>();
    for (const [service, toldMs] of this.toldMs) {
      if (Math.abs(endMs - toldMs) > DETECTION_LIFE_MS) this.toldMs.delete(service);
      else words.set(service, `${this.name}: no sample of ${metric} of '${service}' in this window`);
    }
    for (const service of this.survey.mixed) words.set(service, `${this.name}: ${mixedWords(metric)}`);
    const windows = new Map(set.windows.map((window) => [window.service, window]));
    for (const { requestsPerSecond, service } of set.windows) {
      if (requestsPerSecond === undefined) continue;
      this.toldMs.set(service, endMs);
      words.delete(service);
    }
    const silenceMs = Math.max(endMs - startMs, 2 * this.scrapeIntervalMs);
    for (const window of set.windows) {
      const pod = this.scraped.silentPod(window, silenceMs);
      if (pod === undefined || words.has(window.service)) continue;
      words.set(
        window.service,
        `${this.name}: no sample of ${metric} of pod ${pod} came, which works as before`,
      );
    }
    for (const [service, missing] of words) {
      const { namespace } = this.context;
      const empty = { namespace, service, startMs, endMs, callees: [], containers: [] };
      windows.set(service, { ...(windows.get(service) ?? empty), missing: missing.slice(0, MOST_WORDS) });
    }
    return { ...set, windows: [...windows.values()] };
  }

  private refuseSeveralPlaces(survey: Survey): void {
    const remark = placesRemark(survey);
    if (remark === undefined) return;
    const { message, remedy } = remark;
    throw new TradewindError("several-clusters", `${this.name}: ${message}; ${remedy}`);
  }

  /** Samples of enough intervals to see how a counter behaves, and of all that rates in the grid are made of. */
  private async sampled(query: CounterQuery, grid: Grid, signal?: AbortSignal): Promise<SampledSeries[]> {
    const { intervalMs } = this.survey;
    const toMs = windowEndMs(grid, 0);
    const ratesMs = Math.max(grid.stepMs, SCRAPES_PER_WINDOW * this.scrapeIntervalMs) + this.lookbackMs;
    const seenMs = intervalMs === undefined ? FIRST_LOOK_MS : Math.min(20 * intervalMs, LONGEST_LOOK_MS);
    const reader = this.reader(this.client, "samples", this.survey);
    return reader.sampled(query, { fromMs: toMs - Math.max(ratesMs, seenMs), toMs }, signal);
  }

  private get lookbackMs(): number {
    return Math.max(this.options.lookbackSeconds * 1_000, 2 * this.scrapeIntervalMs);
  }

  private strategy(grid: Grid, { isNative, seriesCount }: Detected): "samples" | "server" {
    if (grid.count > 1 || isNative) return "server";
    const { strategy, maxSampledSeries } = this.options;
    if (strategy !== "auto") return strategy;
    return seriesCount <= maxSampledSeries ? "samples" : "server";
  }

  private reader(
    client: PrometheusClient,
    strategy: "samples" | "server",
    { copies }: Survey,
    read?: RateSettings["read"],
  ): RateReader {
    const { lookbackMs, scrapeIntervalMs } = this;
    return new RateReader(client, {
      strategy,
      scrapeIntervalMs,
      lookbackMs,
      matchers: scopeOf(this.options),
      copyLabels: copies.map(({ label }) => label),
      read,
    });
  }

  private async readResources(
    client: PrometheusClient,
    grid: Grid,
    signal: AbortSignal | undefined,
  ): ReturnType<typeof readResources> {
    const { intervalMs = this.scrapeIntervalMs, copies } = this.resourceSurvey;
    const scope = {
      namespaces: this.options.namespaces,
      matchers: scopeOf(this.options),
      copyLabels: copies.map(({ label }) => label),
      scrapeIntervalMs: intervalMs,
    };
    const reading = await readResources(
      this.reader(client, "server", this.resourceSurvey),
      grid,
      scope,
      signal,
    );
    if (reading.leftOut > 0) this.endpoint.health.partialResultsTotal += 1;
    return reading;
  }
}

/** Samples of so long a time may be more than a server gives at once. */
function unlessRefused(error: unknown): undefined {
  if (error instanceof EndpointError && (error.failure === "too-large" || error.failure === "bad-request")) {
    return undefined;
  }
  throw error;
}
