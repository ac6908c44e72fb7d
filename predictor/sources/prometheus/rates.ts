import { labelKey } from "./api.ts";
import type { Labels, Series } from "./api.ts";
import type { Interval } from "../../window/interval.ts";
import type { PrometheusClient, QueryResult } from "./client.ts";
import { withoutCopies } from "./copies.ts";
import { counterColumn, hasSeveralWriters } from "./counter.ts";
import type { Grid } from "./grid.ts";
import { gridEndMs, gridStartMs, indexOfEnd, unknownColumn } from "./grid.ts";
import { readNativeHistogram } from "./native-histogram.ts";
import type { NativeHistogram } from "./native-histogram.ts";
import { conditions, duration, meets, once, selector, summedBy } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import { readSamples, sampleTimeMs } from "./samples.ts";
import type { Samples } from "./samples.ts";

/** Stored series of one metric. */
interface StoredQuery {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** Labels the caller needs; the others may be summed away by the server. */
  readonly by: readonly string[];
}

export type CounterQuery = { readonly kind: "counter" } & StoredQuery;

/**
 * What to ask for: a stored counter, number or sum of the observations of a native histogram, or a whole expression of
 * per-second rates, in which `$range` stands for the range and `$matchers` for the source's own conditions.
 */
export type RateQuery =
  | CounterQuery
  | ({ readonly kind: "histogram"; readonly part: "count" | "sum" } & StoredQuery)
  | { readonly kind: "expression"; readonly expression: string };

/** A rate in each window of a grid, NaN where it is not known. */
export interface RateSeries {
  readonly labels: Labels;
  readonly perSecond: Float64Array;
  /** 1 where the series was known before the window and gave nothing in it; absent when the server hides that. */
  readonly silent?: Uint8Array;
}

/** A stored series as it was read. */
export interface SampledSeries {
  readonly labels: Labels;
  readonly samples: Samples;
}

export interface HistogramSeries {
  readonly labels: Labels;
  /** Per second; undefined where it is not known. */
  readonly perWindow: readonly (NativeHistogram | undefined)[];
  /** Histograms that were exposed but cannot be read. */
  readonly leftOut: number;
}

/** Which series are read, and how they came into the store. */
export interface StoredScope {
  /** Conditions on all series. */
  readonly matchers: readonly Matcher[];
  /** Labels that tell copies of one series apart; each counts once. */
  readonly copyLabels: readonly string[];
  readonly scrapeIntervalMs: number;
}

export interface RateSettings extends StoredScope {
  /**
   * `samples` reads stored samples and forms the growth here: exact, also for windows as short as one scrape, at the
   * cost of every series crossing the wire. `server` lets the server form `sum by (…) (rate(…))`.
   */
  readonly strategy: "samples" | "server";
  /** How old a counter's last sample before a window may be; staleness of Prometheus is 5 min, ours is shorter. */
  readonly lookbackMs: number;
  /** What has been read already. */
  readonly read?: { readonly query: RateQuery; readonly series: readonly SampledSeries[] } | undefined;
}

/** So many scrapes must fit into a window, or it is widened: scrapes are not punctual. */
export const SCRAPES_PER_WINDOW = 1.5;

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
      return this.fromSamples(query, grid, signal);
    }
    const expression = this.expression(query, grid, this.settings.copyLabels);
    const result = await this.evaluate(expression, grid, signal);
    return kept(query, distinct(result.series)).map((series) => ({
      labels: series.metric,
      perSecond: values(series, grid),
    }));
  }

  /** Stored samples of (fromMs, toMs]. */
  async sampled(
    query: CounterQuery,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
    signal?: AbortSignal,
  ): Promise<SampledSeries[]> {
    const rangeMs = Math.ceil((toMs - fromMs) / 1_000) * 1_000;
    const result = await this.client.query(`${this.selected(query)}[${duration(rangeMs)}]`, toMs, signal);
    const series = kept(query, distinct(result.series)).map(({ metric, values: stored }) => ({
      labels: metric,
      samples: readSamples(stored ?? [], fromMs, toMs),
    }));
    if (series.some(({ samples }) => samples.dropped > 0)) {
      this.client.endpoint.health.partialResultsTotal += 1;
    }
    return series;
  }

  /**
   * Labels of the series that were there within a time, as far as they are needed, and when each was there last; of PromQL of
   * the user's own none are known.
   */
  async labelSets(
    query: RateQuery,
    time: Interval,
    signal?: AbortSignal,
  ): Promise<readonly { readonly labels: Labels; readonly lastMs: number }[]> {
    if (query.kind === "expression") return [];
    const selected = this.selected(query);
    const expression = isTranslated(query) ? `count by (${query.by.join(",")}) (${selected})` : selected;
    const series = await this.client.queryWithin(expression, time, signal);
    const { endMs, startMs } = time;
    return kept(query, series).map((each) => ({
      labels: each.metric,
      lastMs: startMs === endMs ? endMs : (lastMs(each) ?? startMs),
    }));
  }

  /** Native histograms per second, always formed by the server: only it knows their schema changes and resets. */
  async histograms(
    query: RateQuery,
    unitSeconds: number,
    grid: Grid,
    signal?: AbortSignal,
  ): Promise<readonly HistogramSeries[]> {
    // Copies of a histogram have its distribution: no copy has to be left out.
    const result = await this.evaluate(this.expression(query, grid, []), grid, signal);
    return kept(query, distinct(result.series)).map((series) =>
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

  private expression(query: RateQuery, grid: Grid, copyLabels: readonly string[]): string {
    const range = duration(rateRangeMs(grid.stepMs, this.settings.scrapeIntervalMs));
    if (query.kind === "expression") {
      const own = conditions(this.settings.matchers);
      return query.expression.replaceAll("$range", range).replaceAll("$matchers", own);
    }
    const rate = `rate(${this.selected(query)}[${range}])`;
    const part = query.kind === "histogram" ? `histogram_${query.part}(${rate})` : rate;
    return summedBy(isTranslated(query) ? query.by : undefined, once(part, copyLabels));
  }

  private selected(query: StoredQuery): string {
    const { matchers } = this.settings;
    return selector(query.metric, isTranslated(query) ? [...matchers, ...query.matchers] : matchers);
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

  private async fromSamples(query: CounterQuery, grid: Grid, signal?: AbortSignal): Promise<RateSeries[]> {
    const { copyLabels, lookbackMs, read, scrapeIntervalMs } = this.settings;
    const minSpanMs = SCRAPES_PER_WINDOW * scrapeIntervalMs;
    const fromMs = Math.min(gridStartMs(grid), grid.firstEndMs - minSpanMs) - lookbackMs;
    const series =
      read?.query === query
        ? read.series
        : await this.sampled(query, { fromMs, toMs: gridEndMs(grid) }, signal);
    return withoutCopies(series, copyLabels).map(({ labels, samples }) =>
      hasSeveralWriters(samples)
        ? { labels, perSecond: unknownColumn(grid) }
        : Object.assign({ labels }, counterColumn(samples, grid, lookbackMs, minSpanMs)),
    );
  }
}

/** Whether labels can be named in a question: of untranslated metrics they have dots, which each server quotes differently. */
const isTranslated = ({ metric }: StoredQuery): boolean => !metric.includes(".");

/** Series that meet the conditions that could not be part of the question. */
function kept(query: RateQuery, series: readonly Series[]): readonly Series[] {
  if (query.kind === "expression" || isTranslated(query)) return series;
  return series.filter(({ metric }) => meets(metric, query.matchers));
}

/** Series with the same labels are one series: what the server said about it twice is put together. */
function distinct(series: readonly Series[]): Series[] {
  const byLabels = new Map<string, Series>();
  for (const oneSeries of series) {
    const key = labelKey(oneSeries.metric);
    const known = byLabels.get(key);
    const own = { metric: oneSeries.metric, values: pairs(oneSeries), histograms: histogramPairs(oneSeries) };
    if (known === undefined) byLabels.set(key, own);
    else {
      for (const pair of own.values) known.values?.push(pair);
      for (const pair of own.histograms) known.histograms?.push(pair);
    }
  }
  return [...byLabels.values()];
}

/** When the last value of an answer was there. */
const lastMs = (series: Series): number | undefined =>
  sampleTimeMs([...pairs(series), ...histogramPairs(series)].at(-1));

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
