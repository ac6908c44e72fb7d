import { EpochMs, NonNegative } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";

/** Lengths of a step and most steps that are kept: three hours, three days and three weeks. */
export const RESOLUTIONS = [
  { stepMs: 15_000, most: 720 },
  { stepMs: 300_000, most: 864 },
  { stepMs: 1_800_000, most: 1_008 },
] as const;

const MOST_STEPS = Math.max(...RESOLUTIONS.map(({ most }) => most));

/** Mean load of equal steps of time, oldest first. */
export const LoadSeries = z.strictObject({
  stepMs: z.number().positive(),
  /** End of the last step. */
  endMs: EpochMs,
  /** Requests per second; null where nothing is known of the step. */
  values: z.array(NonNegative.nullable()).max(MOST_STEPS),
  /** Requests and seconds known of the step that has begun. */
  begun: z.strictObject({ requests: NonNegative, seconds: NonNegative }),
});
export type LoadSeries = z.infer<typeof LoadSeries>;

export const emptySeries = (): LoadSeries[] =>
  RESOLUTIONS.map(({ stepMs }) => ({ stepMs, endMs: 0, values: [], begun: { requests: 0, seconds: 0 } }));

/** A time with its load. */
export interface LoadInterval {
  readonly startMs: number;
  readonly endMs: number;
  readonly perSecond: number;
}

const mostOf = (stepMs: number): number =>
  RESOLUTIONS.find((each) => each.stepMs === stepMs)?.most ?? MOST_STEPS;

/** Four digits are more than the chance of any count leaves. */
const rounded = (value: number): number => Number(value.toPrecision(4));

/**
 * A series after one more interval. Steps that lie between are missing. What lies before the end of the series is left out: it is
 * known already.
 */
export function withLoad(series: LoadSeries, { endMs, perSecond, startMs }: LoadInterval): LoadSeries {
  const { stepMs } = series;
  const most = mostOf(stepMs);
  const isAfterAll = startMs - series.endMs >= most * stepMs;
  let values = isAfterAll ? [] : series.values;
  let lastMs = isAfterAll ? Math.floor(startMs / stepMs) * stepMs : series.endMs;
  let begun = isAfterAll ? { requests: 0, seconds: 0 } : series.begun;
  const closed: (number | null)[] = [];
  for (let fromMs = Math.max(startMs, lastMs); fromMs < endMs;) {
    const stepEndMs = lastMs + stepMs;
    const seconds = Math.max(0, Math.min(endMs, stepEndMs) - fromMs) / 1e3;
    begun = { requests: begun.requests + seconds * perSecond, seconds: begun.seconds + seconds };
    if (endMs < stepEndMs) break;
    closed.push(begun.seconds > 0 ? rounded(begun.requests / begun.seconds) : null);
    begun = { requests: 0, seconds: 0 };
    lastMs = stepEndMs;
    fromMs = Math.max(fromMs, lastMs);
  }
  if (closed.length > 0) values = [...values, ...closed].slice(-most);
  return { stepMs, endMs: lastMs, values, begun };
}

/**
 * A series with the load of a time before it put in front. What it holds itself stays as it is.
 * @param past by rising start, without overlap; intervals of any lengths. What ends after the series began is left out
 */
export function withPastLoad(own: LoadSeries, past: Iterable<LoadInterval>): LoadSeries {
  const { begun, endMs, stepMs, values } = own;
  const beganMs = endMs > 0 ? endMs - stepMs * values.length : Number.POSITIVE_INFINITY;
  let before: LoadSeries = { stepMs, endMs: 0, values: [], begun: { requests: 0, seconds: 0 } };
  for (const load of past) if (load.endMs <= beganMs) before = withLoad(before, load);
  if (endMs === 0 || before.values.length === 0) return before.values.length === 0 ? own : before;
  const most = mostOf(stepMs);
  const unknown = Math.min(most, Math.round((beganMs - before.endMs) / stepMs));
  const all = [...before.values, ...Array.from({ length: unknown }, () => null), ...values];
  return { stepMs, endMs, values: all.slice(-most), begun };
}
