import { copyLabels, placeLabels } from "./copies.ts";
import type { CounterKind, LabelValues, OwnedCounter } from "./copies.ts";
import { hasSeveralWriters } from "./counter.ts";

/** What stored counters of requests say about how they came into the store. */
export interface Survey {
  /** Between two samples of a series, ms; undefined where none has two. */
  readonly intervalMs: number | undefined;
  /** Labels that tell copies of one series apart. */
  readonly copies: readonly LabelValues[];
  /** Labels that tell clusters or environments apart of which the same services are stored. */
  readonly places: readonly LabelValues[];
  /** Services with a counter that several processes write as one series. */
  readonly mixed: ReadonlySet<string>;
}

export const NOTHING_FOUND: Survey = { intervalMs: undefined, copies: [], places: [], mixed: new Set() };

/**
 * Looks at counters of the application.
 * @param settled labels on which the source has conditions: nothing has to be said of them
 */
export function surveyOf(
  counters: readonly OwnedCounter[],
  kind: Omit<CounterKind, "intervalMs">,
  before: Survey,
  settled: readonly string[],
): Survey {
  const intervalMs = usualIntervalMs(counters) ?? before.intervalMs;
  const mixed = counters.filter(({ samples }) => hasSeveralWriters(samples));
  return {
    intervalMs,
    copies: intervalMs === undefined ? [] : copyLabels(counters, { ...kind, intervalMs }, before.copies),
    places: placeLabels(counters).filter(({ label }) => !settled.includes(label)),
    mixed: new Set(mixed.map(({ service }) => service)),
  };
}

function usualIntervalMs(counters: readonly OwnedCounter[]): number | undefined {
  const intervals = counters
    .flatMap(({ samples: { timesMs } }) => {
      const [first = 0, last = 0] = [timesMs[0], timesMs.at(-1)];
      return last > first ? [(last - first) / (timesMs.length - 1)] : [];
    })
    .sort((a, b) => a - b);
  return intervals[intervals.length >> 1];
}

const MOST_NAMES = 5;

const list = ({ label, values }: LabelValues): string =>
  `${label} (${values
    .slice(0, MOST_NAMES)
    .map((value) => (value === "" ? "none" : value))
    .join(", ")})`;

/** Something a survey found, and what to do about it. */
export interface Remark {
  readonly message: string;
  readonly remedy: string;
}

export function copiesRemark({ copies }: Survey): Remark | undefined {
  const [first] = copies;
  if (first === undefined) return undefined;
  const value = first.values.find((each) => each !== "") ?? "";
  return {
    message: `series are stored ${first.values.length} times, told apart by ${copies.map(list).join(" and ")}; each counts once`,
    remedy: `let the store deduplicate them, or set matchers: { ${first.label}: ${value} } on this source`,
  };
}

export function placesRemark({ places }: Survey): Remark | undefined {
  const [first] = places;
  if (first === undefined) return undefined;
  return {
    message: `the application's services are stored of ${first.values.length} clusters or environments, told apart by ${places.map(list).join(" and ")}: none of their series can be used`,
    remedy: `say which is yours: set matchers: { ${first.label}: ${first.values[0] ?? ""} } on this source`,
  };
}

/** @param metric the counter */
export function mixedRemark({ mixed }: Survey, metric: string): Remark | undefined {
  if (mixed.size === 0) return undefined;
  const services = [...mixed].sort().map((service) => `'${service}'`);
  const more = services.length > MOST_NAMES ? ` and ${services.length - MOST_NAMES} more` : "";
  return {
    message: `${mixedWords(metric)}; so of ${services.slice(0, MOST_NAMES).join(", ")}${more}`,
    remedy:
      "give each collector a label of its own, for example service.instance.id as a resource attribute or an external label",
  };
}

export const mixedWords = (metric: string): string =>
  `${metric} falls in more than a tenth of its steps: several processes write one series, and no rate can be had of it`;
