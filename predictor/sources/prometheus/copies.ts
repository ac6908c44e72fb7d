import { labelKey } from "./api.ts";
import type { Labels } from "./api.ts";
import { growth as growthBetween } from "./counter.ts";
import type { Samples } from "./samples.ts";

/** A stored counter and whose it is. */
export interface OwnedCounter {
  readonly service: string;
  readonly labels: Labels;
  readonly samples: Samples;
}

export interface LabelValues {
  readonly label: string;
  readonly values: readonly string[];
}

/** What describes a request, who asked, or the process that answered: series that differ in it are different series. */
const DESCRIBING = new Set(
  (
    "service server client namespace deployment statefulset daemonset replicaset pod node instance host container le " +
    "direction classification method code status path route reporter version revision tls protocol error zone " +
    "operation handler uri span kind type name tenant user"
  ).split(" "),
);
const DESCRIBING_BEGINNINGS = (
  "source_ destination_ request_ response_ grpc_ connection_ dst_ route_ authz_ srv_ target_ http_ rpc_ db_ messaging_ " +
  "url_ server_ client_ network_ net_ span_ status_ k8s_ service_ telemetry_ otel_ host_ container_ process_ app " +
  "kubernetes_ pod_ workload_ topology_ user_"
).split(" ");
/** Parts of the names that those who store a series twice give to the label that tells the two apart. */
const STORING = ["replica", "prometheus", "scrape", "collector", "monitor", "agent"];
/** Beside names with `cluster`: labels that tell stored environments apart, of which one is the application's. */
const PLACES = new Set([
  "env",
  "environment",
  "deployment_environment",
  "deployment_environment_name",
  "region",
  "cloud_region",
  "datacenter",
  "data_center",
  "dc",
]);

const isPlace = (label: string): boolean =>
  PLACES.has(label) || (label.includes("cluster") && !label.startsWith("source_"));
const isDescribing = (label: string): boolean =>
  DESCRIBING.has(label) || DESCRIBING_BEGINNINGS.some((beginning) => label.startsWith(beginning));
const isStoring = (label: string): boolean => STORING.some((part) => label.includes(part));

/** Samples at which copies may differ: a restart is seen at two times. */
const STRAY_SHARE = 0.1;
const LEAST_STRAYS = 2;
/** Requests in the time that is looked at, below which equal growth says nothing. */
const LEAST_GROWTH = 20;
/** Share of the requests in series of which each has its copy. */
const AGREEING_SHARE = 0.9;
/** Copies of one series: more are pods, routes or customers. */
const MOST_COPIES = 8;

/** Labels of two to eight values over all series, those together whose values go together: labels of the same writer. */
function axesOf(counters: readonly OwnedCounter[]): (readonly string[])[] {
  const names = new Set(counters.flatMap(({ labels }) => Object.keys(labels)));
  names.delete("__name__");
  const axes = new Map<string, string[]>();
  for (const name of names) {
    const indexes = new Map<string, number>();
    const pattern: number[] = [];
    for (const { labels } of counters) {
      const value = labels[name] ?? "";
      const index = indexes.get(value) ?? indexes.size;
      indexes.set(value, index);
      pattern.push(index);
      if (indexes.size > MOST_COPIES) break;
    }
    if (indexes.size < 2 || indexes.size > MOST_COPIES) continue;
    const key = pattern.join();
    axes.set(key, [...(axes.get(key) ?? []), name]);
  }
  return [...axes.values()];
}

/** Index of the last sample at or before this time, of the first where there is none. */
function indexAt({ timesMs }: Samples, timeMs: number): number {
  let low = 0;
  let high = timesMs.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((timesMs[middle] ?? 0) <= timeMs) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Value of a counter between its samples, linear. */
function valueAt(samples: Samples, timeMs: number): number {
  const { timesMs, values } = samples;
  const index = indexAt(samples, timeMs);
  const [fromMs = 0, from = 0] = [timesMs[index], values[index]];
  const [toMs = fromMs, to = from] = [timesMs[index + 1], values[index + 1]];
  const share = toMs > fromMs ? Math.min(1, Math.max(0, (timeMs - fromMs) / (toMs - fromMs))) : 0;
  return from + share * (to - from);
}

/** What is counted. */
export interface CounterKind {
  /** Between two samples of a series. */
  readonly intervalMs: number;
  /** Labels that say what a counter is about: they tell different counters apart, not copies. */
  readonly identifying: readonly string[];
}

interface Comparison {
  /** What was counted in the time that both cover. */
  readonly growth: number;
  /** Each value of one lies between those that the other had just before and just after: both are samples of one counter. */
  readonly isSameCount: boolean;
  /** They differ by a constant, as far as chance lets that be seen: two counters of the same events. */
  readonly isSameGrowth: boolean;
}

/** Two counters over the time that both cover. */
function compared(a: Samples, b: Samples, intervalMs: number): Comparison {
  const fromMs = Math.max(a.timesMs[0] ?? 0, b.timesMs[0] ?? 0);
  const toMs = Math.min(a.timesMs.at(-1) ?? 0, b.timesMs.at(-1) ?? 0);
  if (!(toMs - fromMs >= 2 * intervalMs)) return { growth: 0, isSameGrowth: false, isSameCount: false };
  const grown = (of: Samples): number => growthBetween(of, indexAt(of, fromMs), indexAt(of, toMs));
  const growth = Math.max(grown(a), grown(b));
  const points = Array.from(a.timesMs, (timeMs, index) => ({ timeMs, value: a.values[index] ?? 0 })).filter(
    ({ timeMs }) => timeMs >= fromMs && timeMs <= toMs,
  );
  const most = Math.max(LEAST_STRAYS, STRAY_SHARE * points.length);
  const isMostly = (isOf: (point: (typeof points)[number]) => boolean): boolean =>
    points.length > most && points.filter((point) => !isOf(point)).length <= most;
  const differences = points.map(({ timeMs, value }) => value - valueAt(b, timeMs));
  const usual = differences.toSorted((one, other) => one - other)[differences.length >> 1] ?? 0;
  // Requests between the samples of one and those of the other come by chance.
  const tolerance = 2 * Math.sqrt((growth * intervalMs) / (toMs - fromMs)) + 1;
  return {
    growth,
    isSameCount: isMostly(({ timeMs, value }) => {
      const index = indexAt(b, timeMs);
      const [before = 0, after = before] = [b.values[index], b.values[index + 1]];
      return value >= before - 1 && value <= after + 1;
    }),
    isSameGrowth: isMostly(({ timeMs, value }) => Math.abs(value - valueAt(b, timeMs) - usual) <= tolerance),
  };
}

function groupedWithout(
  counters: readonly OwnedCounter[],
  labels: readonly string[],
): readonly (readonly OwnedCounter[])[] {
  return [...Map.groupBy(counters, (counter) => labelKey(counter.labels, labels)).values()];
}

type Verdict = "copies" | "different" | "unknown";

/** Whether the values of an axis tell copies of the same series apart. */
function judged(counters: readonly OwnedCounter[], axis: readonly string[], kind: CounterKind): Verdict {
  const isNamedSo = axis.some(isStoring);
  let agreeing = 0;
  let all = 0;
  for (const [first, ...others] of groupedWithout(counters, axis)) {
    if (first === undefined) continue;
    if (others.length === 0) {
      // A label of whoever stores series is on all of them; unless its name says what it is.
      const { timesMs, values } = first.samples;
      if (!isNamedSo && timesMs.length > 1) all += Math.max(0, (values.at(-1) ?? 0) - (values[0] ?? 0));
      continue;
    }
    for (const other of others) {
      const { growth, isSameCount, isSameGrowth } = compared(first.samples, other.samples, kind.intervalMs);
      if (growth < LEAST_GROWTH) continue;
      all += growth;
      if (isSameCount || (isNamedSo && isSameGrowth)) agreeing += growth;
    }
  }
  if (all < LEAST_GROWTH) return "unknown";
  return agreeing >= AGREEING_SHARE * all ? "copies" : "different";
}

/**
 * Labels that tell copies of one series apart, as two Prometheus of a pair that write to one store: for each value the same
 * series, with the same counts. Where growth is too small to tell, what was found before stays.
 * @param before labels that were found in the last look
 */
export function copyLabels(
  counters: readonly OwnedCounter[],
  kind: CounterKind,
  before: readonly LabelValues[] = [],
): LabelValues[] {
  const isOther = (label: string): boolean =>
    isPlace(label) || isDescribing(label) || kind.identifying.includes(label);
  return axesOf(counters)
    .filter((axis) => !axis.some(isOther))
    .flatMap((axis) => {
      const verdict = judged(counters, axis, kind);
      const wasFound = before.some(({ label }) => axis.includes(label));
      if (verdict === "different" || (verdict === "unknown" && !wasFound)) return [];
      return axis.map((label) => ({
        label,
        values: [...new Set(counters.map(({ labels }) => labels[label] ?? ""))].sort(),
      }));
    });
}

/** Of series that differ in these labels alone the one with most samples, of equals that of the same writer; without the labels. */
export function withoutCopies<Counter extends Pick<OwnedCounter, "labels" | "samples">>(
  counters: readonly Counter[],
  labels: readonly string[],
): readonly Counter[] {
  if (labels.length === 0) return counters;
  const writer = (counter: Counter): string => labels.map((label) => counter.labels[label] ?? "").join();
  const fullest = new Map<string, Counter>();
  for (const counter of counters) {
    const key = labelKey(counter.labels, labels);
    const best = fullest.get(key);
    const more = counter.samples.timesMs.length - (best?.samples.timesMs.length ?? 0);
    if (best === undefined || more > 0 || (more === 0 && writer(counter) < writer(best)))
      fullest.set(key, counter);
  }
  const kept = ([label]: [string, string]): boolean => !labels.includes(label);
  return [...fullest.values()].map((counter) =>
    Object.assign({}, counter, { labels: Object.fromEntries(Object.entries(counter.labels).filter(kept)) }),
  );
}

/** Labels that say that series of one service are of several clusters or environments. */
export function placeLabels(counters: readonly OwnedCounter[]): LabelValues[] {
  const names = new Set(counters.flatMap(({ labels }) => Object.keys(labels).filter(isPlace)));
  return [...names].flatMap((label) => {
    const valuesOf = new Map<string, Set<string>>();
    for (const { labels, service } of counters) {
      const value = labels[label] ?? "";
      if (value === "" || value === "unknown") continue;
      valuesOf.set(service, (valuesOf.get(service) ?? new Set()).add(value));
    }
    const several = new Set<string>();
    for (const values of valuesOf.values()) {
      if (values.size > 1) for (const value of values) several.add(value);
    }
    return several.size === 0 ? [] : [{ label, values: [...several].sort() }];
  });
}
