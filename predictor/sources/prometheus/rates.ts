import type { Labels, Series } from "./api.ts";
import type { PrometheusClient, QueryResult } from "./client.ts";
import { counterColumn } from "./counter.ts";
import type { Grid } from "./grid.ts";
import { gridEndMs, gridStartMs, indexOfEnd, unknownColumn } from "./grid.ts";
import { readNativeHistogram } from "./native-histogram.ts";
import type { NativeHistogram } from "./native-histogram.ts";
import { duration, selector, summedRate } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import { readSamples, sampleTimeMs } from "./samples.ts";

/** What to ask for: a stored counter, or a whole expression of per-second rates in which `$range` stands for the range. */
export type RateQuery =
  | {
      readonly kind: "counter";
      readonly metric: string;
      readonly matchers: readonly Matcher[];
      /** Labels the caller needs; the others may be summed away by the server. */
      readonly by: readonly string[];
    }
  | { readonly kind: "expression"; readonly expression: string };

/** A rate in each window of a grid, NaN where it is not known. */
export interface RateSeries {
  readonly labels: Labels;
  readonly perSecond: Float64Array;
  /** 1 where the series was known before the window and gave nothing in it; absent when the server hides that. */
  readonly silent?: Uint8Array;
}

export interface HistogramSeries {
  readonly labels: Labels;
  /** Per second; undefined where it is not known. */
  readonly perWindow: readonly (NativeHistogram | undefined)[];
  /** Histograms that were exposed but cannot be read. */
  readonly leftOut: number;
}

export interface RateSettings {
  /**
   * `samples` reads stored samples and forms the growth here: exact, also for windows as short as one scrape, at the
   * cost of every series crossing the wire. `server` lets the server form `sum by (…) (rate(…))`.
   */
  readonly strategy: "samples" | "server";
  readonly scrapeIntervalMs: number;
  /** How old a counter's last sample before a window may be; staleness of Prometheus is 5 min, ours is shorter. */
  readonly lookbackMs: number;
}

/** So many scrapes must fit into a window, or it is widened: scrapes are not punctual. */
const SCRAPES_PER_WINDOW = 1.5;

/** `rate()` needs two samples and tolerates one missing scrape: four scrape intervals, or the window if longer. */
export function rateRangeMs(stepMs: number, scrapeIntervalMs: number): number {
  return Math.max(stepMs, 4 * scrapeIntervalMs);
}

export class RateReader {
  private readonly client: PrometheusClient;
  private readonly settings: RateSettings;

  constructor(client: PrometheusClient, settings: RateSettings) {
    this.client = client;
    this.settings = settings;
  }

  async rates(query: RateQuery, grid: Grid, signal?: AbortSignal): Promise<readonly RateSeries[]> {
    if (query.kind === "counter" && this.settings.strategy === "samples") {
      return this.fromSamples(selector(query.metric, query.matchers), grid, signal);
    }
    const result = await this.evaluate(this.expression(query, grid), grid, signal);
    return distinct(result.series).map((series) => ({
      labels: series.metric,
      perSecond: values(series, grid),
    }));
  }

  /** Native histograms per second, always formed by the server: only it knows their schema changes and resets. */
  async histograms(
    query: RateQuery,
    unitSeconds: number,
    grid: Grid,
    signal?: AbortSignal,
  ): Promise<readonly HistogramSeries[]> {
    const result = await this.evaluate(this.expression(query, grid), grid, signal);
    return distinct(result.series).map((series) =>
      Object.assign({ labels: series.metric }, histograms(series, unitSeconds, grid)),
    );
  }

  /** A gauge at the end of each window. */
  async gauges(expression: string, grid: Grid, signal?: AbortSignal): Promise<readonly RateSeries[]> {
    const result = await this.evaluate(expression, grid, signal);
    return distinct(result.series).map((series) => ({
      labels: series.metric,
      perSecond: values(series, grid, Number.NEGATIVE_INFINITY),
    }));
  }

  private expression(query: RateQuery, grid: Grid): string {
    const rangeMs = rateRangeMs(grid.stepMs, this.settings.scrapeIntervalMs);
    if (query.kind === "expression") return query.expression.replaceAll("$range", duration(rangeMs));
    return summedRate(query.by, selector(query.metric, query.matchers), rangeMs);
  }

  private async evaluate(
    expression: string,
    grid: Grid,
    signal: AbortSignal | undefined,
  ): Promise<QueryResult> {
    if (grid.count === 1) return this.client.query(expression, grid.firstEndMs, signal);
    const range = { startMs: grid.firstEndMs, endMs: gridEndMs(grid), stepMs: grid.stepMs };
    return this.client.queryRange(expression, range, signal);
  }

  private async fromSamples(selected: string, grid: Grid, signal?: AbortSignal): Promise<RateSeries[]> {
    const { lookbackMs, scrapeIntervalMs } = this.settings;
    const minSpanMs = SCRAPES_PER_WINDOW * scrapeIntervalMs;
    const fromMs = Math.min(gridStartMs(grid), grid.firstEndMs - minSpanMs) - lookbackMs;
    const toMs = gridEndMs(grid);
    const result = await this.client.query(
      `${selected}[${duration(Math.ceil((toMs - fromMs) / 1_000) * 1_000)}]`,
      toMs,
      signal,
    );
    let dropped = 0;
    const columns = distinct(result.series).map((series) => {
      const samples = readSamples(series.values ?? [], fromMs, toMs);
      dropped += samples.dropped;
      const { perSecond, silent } = counterColumn(samples, grid, lookbackMs, minSpanMs);
      return { labels: series.metric, perSecond, silent };
    });
    if (dropped > 0) this.client.endpoint.health.partialResultsTotal += 1;
    return columns;
  }
}

/** Series with the same labels are one series: what the server said about it twice is put together. */
function distinct(series: readonly Series[]): Series[] {
  const byLabels = new Map<string, Series>();
  for (const each of series) {
    const key = labelKey(each.metric);
    const known = byLabels.get(key);
    const own = { metric: each.metric, values: pairs(each), histograms: histogramPairs(each) };
    if (known === undefined) byLabels.set(key, own);
    else {
      for (const pair of own.values) known.values?.push(pair);
      for (const pair of own.histograms) known.histograms?.push(pair);
    }
  }
  return [...byLabels.values()];
}

/** A text that is equal for equal labels; the metric's name does not count. */
export function labelKey(labels: Labels, without?: string): string {
  return Object.keys(labels)
    .filter((label) => label !== without && label !== "__name__")
    .sort()
    .map((label) => `${label}\u0001${labels[label] ?? ""}`)
    .join("\u0002");
}

const pairs = ({ value, values: many }: Series): unknown[] => many ?? (value === undefined ? [] : [value]);
const histogramPairs = ({ histogram, histograms: many }: Series): unknown[] =>
  many ?? (histogram === undefined ? [] : [histogram]);

function values(series: Series, grid: Grid, least = 0): Float64Array {
  const column = unknownColumn(grid);
  const samples = readSamples(series.values ?? [], grid.firstEndMs, gridEndMs(grid));
  samples.timesMs.forEach((timeMs, at) => {
    const index = indexOfEnd(grid, timeMs);
    const value = samples.values[at] ?? Number.NaN;
    if (index !== undefined && value >= least) column[index] = value;
  });
  return column;
}

function histograms(series: Series, unitSeconds: number, grid: Grid): Omit<HistogramSeries, "labels"> {
  const perWindow: (NativeHistogram | undefined)[] = Array.from({ length: grid.count });
  const seen = new Set<number>();
  for (const pair of series.histograms ?? []) {
    const timeMs = sampleTimeMs(pair);
    const index = timeMs === undefined ? undefined : indexOfEnd(grid, timeMs);
    if (index === undefined) continue;
    perWindow[index] = seen.has(index) ? undefined : readNativeHistogram((pair as unknown[])[1], unitSeconds);
    seen.add(index);
  }
  const leftOut = [...seen].filter((index) => perWindow[index] === undefined).length;
  return { perWindow, leftOut };
}
