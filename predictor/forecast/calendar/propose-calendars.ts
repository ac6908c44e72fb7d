import type { LearnedCalendar } from "@tradewind/core/contract/calendar.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { LoadSeries } from "../load-series.ts";
import { learnPeaks } from "./learn-peaks.ts";
import type { Peak } from "./learn-peaks.ts";

const MOST_CALENDARS = 1_000;
const DAY_SECONDS = 86_400;

export interface LearnFrom {
  /** Load of the weeks before, in steps of half an hour. */
  readonly series: LoadSeries;
  /** Load of the application now, requests per second. */
  readonly perSecond: number;
  /** CPU that a replica may use of what it has. */
  readonly targetUtilisation: number;
  readonly wishes: readonly Pick<Wish, "service" | "evidence" | "bounds">[];
}

/** Gives the calendars that the load speaks for; looks for peaks once for each step of load. */
export class LearnedCalendars {
  #peaks: Peak[] | undefined;
  /** End of the series that they are of, and its length: the past may be put in front of it. */
  #of: readonly [number, number] = [Number.NaN, 0];

  /** Undefined while too little is known to say that there are none. */
  propose({ perSecond, series, targetUtilisation, wishes }: LearnFrom): LearnedCalendar[] | undefined {
    const { length } = series.values;
    if (this.#of[0] !== series.endMs || this.#of[1] !== length) {
      this.#peaks = learnPeaks(series);
      this.#of = [series.endMs, length];
    }
    if (this.#peaks === undefined || !(perSecond > 0)) return undefined;
    const all = this.#peaks.flatMap((peak) =>
      wishes.flatMap((wish) => calendarOf(wish, peak, perSecond, targetUtilisation) ?? []),
    );
    return all.slice(0, MOST_CALENDARS);
  }
}

/** CPU demand grows as the load does: a service needs as many replicas more. */
function calendarOf(
  { bounds, evidence, service }: LearnFrom["wishes"][number],
  { confidence, days, fromSeconds, hits, name, occurrences, untilSeconds, ...peak }: Peak,
  perSecond: number,
  targetUtilisation: number,
): LearnedCalendar | undefined {
  const { cpuDemandCores: cores = 0, cpuPodCapacityCores: podCores = 0 } = evidence;
  if (!(cores > 0) || !(podCores > 0)) return undefined;
  const need = (load: number): number =>
    Math.max(1, Math.ceil((cores * (load / perSecond)) / (podCores * targetUtilisation) - 1e-6));
  const usualReplicas = need(peak.usualPerSecond);
  const replicas = Math.min(need(peak.perSecond), bounds.maxReplicas);
  if (replicas <= usualReplicas) return undefined;
  // A window of one day's pattern ends before midnight.
  const until = untilSeconds >= DAY_SECONDS ? "59 23" : clock(untilSeconds);
  return {
    calendar: {
      name: `learned-${contentHash([service, days, fromSeconds]).slice(0, 6)}-${name}`,
      services: [service],
      from: `${clock(fromSeconds)} * * ${days}`,
      until: `${until} * * ${days}`,
      timeZone: "UTC",
      except: [],
      floor: { replicas },
    },
    service,
    usualReplicas,
    occurrences,
    hits,
    confidence,
  };
}

/** Minute and hour as cron writes them. */
const clock = (seconds: number): string => `${(seconds / 60) % 60} ${Math.floor(seconds / 3_600)}`;
