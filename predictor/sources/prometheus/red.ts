import type { Labels } from "./api.ts";
import { unknownColumn } from "./grid.ts";
import type { Grid } from "./grid.ts";
import { ServiceHistograms } from "./latency.ts";
import { placedService } from "./mapping.ts";
import type { RedMapping, ServiceKey } from "./mapping.ts";
import { summarise } from "./bucket.ts";
import type { HistogramSeries, RateReader, RateSeries } from "./rates.ts";
import { addKnown, RedReading, summed } from "./reading.ts";

/**
 * Reads rate, errors and duration of every service and the calls between them. What one question could not answer is
 * left unknown; the answers to the others are kept.
 * @param namespace of the application; series without a namespace count as its own
 * @throws EndpointError when the requests themselves could not be read
 */
export async function readRed(
  reader: RateReader,
  family: RedMapping,
  grid: Grid,
  namespace: string,
  signal?: AbortSignal,
): Promise<RedReading> {
  const mapping = withNamespace(family, namespace);
  const reading = new RedReading(grid);
  const [requests, ...others] = await Promise.allSettled([
    reader.rates(mapping.requests, grid, signal),
    readErrors(reader, mapping, reading, signal),
    readLatency(reader, mapping, reading, signal),
    readCalls(reader, mapping, reading, signal),
    readWaiting(reader, mapping, reading, signal),
  ]);
  if (requests.status === "rejected") throw requests.reason;
  addRequests(requests.value, mapping, reading);
  reading.leftOut += others.filter(({ status }) => status === "rejected").length;
  return reading;
}

/** Service graphs have no namespaces, also where requests have: a service and its calls must still have one key. */
function withNamespace(mapping: RedMapping, namespace: string): RedMapping {
  const { calls, service } = mapping;
  const placed =
    (keyOf: (labels: Labels) => ServiceKey | undefined) =>
    (labels: Labels): ServiceKey | undefined => {
      const key = keyOf(labels);
      return key && (placedService(key, namespace) ?? key);
    };
  return {
    ...mapping,
    service: placed(service),
    ...(calls === undefined
      ? {}
      : { calls: { ...calls, caller: placed(calls.caller), callee: placed(calls.callee) } }),
  };
}

function addRequests(series: readonly RateSeries[], mapping: RedMapping, reading: RedReading): void {
  for (const { key, members } of grouped(series, mapping.service)) {
    const service = reading.of(key);
    const all = summed(members, reading.grid);
    reading.leftOut += all.leftOut;
    addKnown(service.requestsPerSecond, all.sum);
    if (mapping.errors !== undefined) continue;
    const failed = members.filter(({ labels }) => mapping.failed(labels));
    const { sum } = summed(failed, reading.grid);
    service.requestsPerSecond.forEach((rate, index) => {
      const errors = sum[index] ?? Number.NaN;
      if (!Number.isNaN(rate)) service.errorsPerSecond[index] = Number.isNaN(errors) ? 0 : errors;
    });
  }
}

async function readErrors(
  reader: RateReader,
  mapping: RedMapping,
  reading: RedReading,
  signal?: AbortSignal,
): Promise<void> {
  if (mapping.errors === undefined) return;
  const series = await reader.rates(mapping.errors, reading.grid, signal);
  for (const { key, members } of grouped(series, mapping.service)) {
    addKnown(reading.of(key).errorsPerSecond, summed(members, reading.grid).sum);
  }
}

async function readLatency(
  reader: RateReader,
  mapping: RedMapping,
  reading: RedReading,
  signal?: AbortSignal,
): Promise<void> {
  const { buckets, sum, native, unitSeconds } = mapping.latency;
  if (native !== undefined) {
    addNative(await reader.histograms(native, unitSeconds, reading.grid, signal), mapping, reading);
  }
  if (buckets === undefined || sum === undefined) return;
  const [bucketSeries, sumSeries] = await Promise.all([
    reader.rates(buckets, reading.grid, signal),
    reader.rates(sum, reading.grid, signal),
  ]);
  addClassic(bucketSeries, sumSeries, mapping, reading);
}

function addClassic(
  bucketSeries: readonly RateSeries[],
  sumSeries: readonly RateSeries[],
  mapping: RedMapping,
  reading: RedReading,
): void {
  const histograms = new Map<string, { key: ServiceKey; of: ServiceHistograms }>();
  const at = (key: ServiceKey): ServiceHistograms => {
    const id = JSON.stringify([key.namespace, key.service]);
    const known = histograms.get(id) ?? { key, of: new ServiceHistograms() };
    histograms.set(id, known);
    return known.of;
  };
  for (const { key, members } of grouped(bucketSeries, mapping.service)) {
    for (const series of members) at(key).addBucket(series);
  }
  for (const { key, members } of grouped(sumSeries, mapping.service)) {
    for (const series of members) at(key).addSum(series);
  }
  const { grid } = reading;
  for (const { key, of } of histograms.values()) {
    const service = reading.of(key);
    for (let index = 0; index < grid.count; index += 1) {
      const { latency, leftOut } = of.summary(index, mapping.latency.unitSeconds, grid.stepMs / 1_000);
      service.latency[index] = latency;
      reading.leftOut += leftOut;
    }
  }
}

function addNative(series: readonly HistogramSeries[], mapping: RedMapping, reading: RedReading): void {
  const seen = new Set<string>();
  for (const { labels, leftOut, perWindow } of series) {
    const key = mapping.service(labels);
    if (key === undefined) continue;
    const id = JSON.stringify([key.namespace, key.service]);
    const service = reading.of(key);
    reading.leftOut += leftOut;
    perWindow.forEach((histogram, index) => {
      if (histogram === undefined || histogram.count === 0) return;
      // Two histograms of one service would have to be added; the server does that when it groups by service alone.
      const latency = seen.has(id)
        ? undefined
        : summarise(
            histogram.buckets,
            histogram.sum * mapping.latency.unitSeconds,
            histogram.count,
            reading.grid.stepMs / 1_000,
          );
      service.latency[index] = latency;
      if (latency === undefined) reading.leftOut += 1;
    });
    seen.add(id);
  }
}

async function readCalls(
  reader: RateReader,
  mapping: RedMapping,
  reading: RedReading,
  signal?: AbortSignal,
): Promise<void> {
  const { calls } = mapping;
  if (calls === undefined) return;
  const counts = await reader.rates(calls.count, reading.grid, signal);
  const sums = calls.sum === undefined ? [] : await reader.rates(calls.sum, reading.grid, signal);
  const add = (
    series: readonly RateSeries[],
    field: "callsPerSecond" | "secondsPerSecond",
    factor: number,
  ): void => {
    for (const { labels, perSecond } of series) {
      const caller = calls.caller(labels);
      const callee = calls.callee(labels);
      if (caller === undefined || callee === undefined || caller.service === callee.service) continue;
      addKnown(reading.edge(reading.of(caller), callee.service)[field], perSecond, factor);
    }
  };
  add(counts, "callsPerSecond", 1);
  add(sums, "secondsPerSecond", calls.unitSeconds);
  reading.graphKnown = counts.length > 0;
}

async function readWaiting(
  reader: RateReader,
  mapping: RedMapping,
  reading: RedReading,
  signal?: AbortSignal,
): Promise<void> {
  const { waiting } = mapping;
  if (waiting === undefined) return;
  const series = await reader.rates(waiting.sum, reading.grid, signal);
  for (const { labels, perSecond } of series) {
    const key = mapping.service(labels);
    if (key === undefined) continue;
    const service = reading.of(key);
    service.waitingSecondsPerSecond ??= unknownColumn(reading.grid);
    addKnown(service.waitingSecondsPerSecond, perSecond, waiting.unitSeconds);
  }
  reading.waitingKnown = series.length > 0;
}

function grouped(
  series: readonly RateSeries[],
  keyOf: (labels: RateSeries["labels"]) => ServiceKey | undefined,
): Iterable<{ key: ServiceKey; members: RateSeries[] }> {
  const groups = new Map<string, { key: ServiceKey; members: RateSeries[] }>();
  for (const oneSeries of series) {
    const key = keyOf(oneSeries.labels);
    if (key === undefined) continue;
    const id = JSON.stringify([key.namespace, key.service]);
    const group = groups.get(id) ?? { key, members: [] };
    group.members.push(oneSeries);
    groups.set(id, group);
  }
  return groups.values();
}
