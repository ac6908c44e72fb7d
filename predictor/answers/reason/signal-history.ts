import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Call, Candidate, Incident } from "./incident.ts";
import { onsetOf } from "./onset.ts";
import { SIGNAL_NAMES } from "./signals.ts";
import type { Series, SignalName } from "./signals.ts";
import { callsOf, signalsOf } from "./window-signals.ts";

/** Windows that are kept in all; a window of an incident gives way first once it is older than those that are looked back on. */
const MOST_WINDOWS = 160;
const LOOK_BACK = 40;
/** Windows that are judged together while the objective is not missed. */
const PRESENT = 3;
/** Windows that a baseline is made of at least. */
export const LEAST_PAST = 10;
/** A prediction that is off by this factor, up or down, hides what one step of any size would do. */
export const FAR_RATIO = 2;
/** A version that has run for so many windows is no longer new. */
const NEW_FOR_WINDOWS = 40;
/** Names beyond so many in the windows kept are not followed: whoever sends spans makes them up. */
const MOST_SERVICES = 10_000;
const MOST_CALLS = 50_000;

interface KeptWindow {
  readonly endMs: number;
  /** The objective was met. */
  readonly isWell: boolean;
  /** Latency of the slowest route over the objective; NaN where it is not known. */
  readonly severity: number;
  /** By service number times signals plus signal; NaN where not measured. */
  readonly values: Float32Array;
  /** Network time by call number. */
  readonly transits: Float32Array;
}

/** Latency of the slowest route over the objective's; undefined where it is not known. */
export type Severity = number | undefined;

interface Version {
  readonly revision: string;
  /** Windows that it has run for, the first ones of all aside: what ran at the start is not new. */
  windows: number;
}

/** Its place in what windows hold, and when it was seen last. */
interface Place {
  at: number;
  lastMs: number;
}

interface KnownCall extends Place {
  readonly caller: string;
  readonly callee: string;
  perRequest: number | undefined;
}

/** What the last windows said of every service: a bounded memory, 12 KB for each service. */
export class SignalHistory {
  #windows: KeptWindow[] = [];
  readonly #services = new Map<string, Place>();
  readonly #calls = new Map<string, KnownCall>();
  #versions = new Map<string, Version>();

  /** Takes a window that was decided on. */
  add(set: WindowSet, severity: Severity, namespace: string): void {
    const windows = set.windows.filter((each) => each.namespace === namespace);
    if (this.#services.size + windows.length > MOST_SERVICES || this.#calls.size >= MOST_CALLS)
      this.#forget();
    for (const { service } of windows) this.#know(service, set.endMs);
    const values = new Float32Array(this.#services.size * SIGNAL_NAMES.length).fill(Number.NaN);
    const transits: number[] = [];
    for (const window of windows) {
      const place = this.#services.get(window.service);
      if (place === undefined) continue;
      const first = place.at * SIGNAL_NAMES.length;
      const signals = signalsOf(
        window,
        this.#newVersion(window.service, window.revision, window.newestRevisionShare),
      );
      for (const [at, name] of SIGNAL_NAMES.entries()) values[first + at] = signals.get(name) ?? Number.NaN;
      for (const { callee, caller, perRequest, transitSeconds } of callsOf(window)) {
        const call = this.#call(caller, callee);
        if (call === undefined) continue;
        call.lastMs = set.endMs;
        call.perRequest = perRequest;
        transits[call.at] = transitSeconds ?? Number.NaN;
      }
    }
    const isWell = severity !== undefined && severity <= 1;
    this.#windows.push({
      endMs: set.endMs,
      isWell,
      severity: severity ?? Number.NaN,
      values,
      transits: Float32Array.from({ length: this.#calls.size }, (_, at) => transits[at] ?? Number.NaN),
    });
    if (this.#windows.length > MOST_WINDOWS) this.#windows.splice(this.#leastWorth(), 1);
  }

  /** Windows say nothing of times that are called otherwise now. */
  clear(): void {
    this.#windows = [];
    this.#services.clear();
    this.#calls.clear();
    this.#versions = new Map();
  }

  /**
   * What there is to find a cause in now; undefined before the first window.
   * @param influences by service, of the plan model; empty where there is none
   */
  incident(
    entry: string,
    influences: ReadonlyMap<string, number>,
  ): (Incident & { readonly onsetMs: number; readonly pastWindows: number }) | undefined {
    const last = this.#windows.at(-1);
    if (last === undefined) return undefined;
    const recent = this.#windows.slice(-LOOK_BACK);
    const onset = this.#windows.length - recent.length + onsetOf(recent.map(({ severity }) => severity));
    const first = last.severity > 1 ? onset : Math.max(0, this.#windows.length - PRESENT);
    const now = this.#windows.slice(first);
    // Where nobody ever measured what users see, all windows are the past of the last ones.
    const isBlind = this.#windows.every(({ severity }) => Number.isNaN(severity));
    const past = this.#windows.slice(0, first).filter(({ isWell }) => isWell || isBlind);
    const present = new Set<number>();
    for (const { at } of this.#services.values())
      if (now.some(({ values }) => hasValue(values, at))) present.add(at);
    const candidates = [...this.#services]
      .filter(([, { at }]) => present.has(at))
      .map(([name, { at }]): Candidate => {
        const influence = influences.size === 0 ? undefined : (influences.get(name) ?? 0);
        const series = seriesOf(past, now, at);
        return influence === undefined ? { name, series } : { name, series, influence };
      });
    // A call that a deploy took away would else be charged with what its former caller does.
    const recentMs = recent[0]?.endMs ?? last.endMs;
    const made = [...this.#calls.values()].filter(({ lastMs }) => lastMs >= recentMs);
    const calls = made.map(({ at, callee, caller, perRequest }): Call => {
      const transit: Series = {
        signal: "transitTime",
        normal: measured(past, ({ transits }) => transits[at]),
        now: measured(now, ({ transits }) => transits[at]),
      };
      return perRequest === undefined ? { caller, callee, transit } : { caller, callee, transit, perRequest };
    });
    return {
      entry,
      candidates,
      calls,
      leastPast: LEAST_PAST,
      isMissed: last.severity > 1,
      onsetMs: now[0]?.endMs ?? last.endMs,
      pastWindows: past.length,
    };
  }

  #call(caller: string, callee: string): KnownCall | undefined {
    const key = `${caller}\n${callee}`;
    const known = this.#calls.get(key);
    if (known !== undefined || this.#calls.size >= MOST_CALLS) return known;
    const call: KnownCall = { at: this.#calls.size, lastMs: 0, caller, callee, perRequest: undefined };
    this.#calls.set(key, call);
    return call;
  }

  #know(service: string, nowMs: number): void {
    const known = this.#services.get(service);
    if (known !== undefined) known.lastMs = nowMs;
    else if (this.#services.size < MOST_SERVICES)
      this.#services.set(service, { at: this.#services.size, lastMs: nowMs });
  }

  /** Services and calls that no window kept has seen give their places to others. */
  #forget(): void {
    const sinceMs = this.#windows[0]?.endMs ?? Number.POSITIVE_INFINITY;
    const isOld = ({ lastMs }: Place): boolean => lastMs < sinceMs;
    if (![...this.#services.values(), ...this.#calls.values()].some(isOld)) return;
    const places = [kept(this.#services, sinceMs), kept(this.#calls, sinceMs)] as const;
    this.#windows = this.#windows.map((each) => ({
      ...each,
      values: picked(each.values, places[0], SIGNAL_NAMES.length),
      transits: picked(each.transits, places[1], 1),
    }));
  }

  #newVersion(service: string, revision: string | undefined, share = 1): number | undefined {
    if (revision === undefined) return undefined;
    const known = this.#versions.get(service);
    if (known?.revision === revision) {
      known.windows += 1;
      return known.windows <= NEW_FOR_WINDOWS ? share : 0;
    }
    this.#versions.set(service, { revision, windows: known === undefined ? NEW_FOR_WINDOWS : 1 });
    return known === undefined ? 0 : share;
  }

  /** The oldest window of an incident that is over; else the oldest. */
  #leastWorth(): number {
    const old = this.#windows.slice(0, -LOOK_BACK).findIndex(({ isWell }) => !isWell);
    return Math.max(0, old);
  }
}

/** Drops what was seen last before then and renumbers the rest. @returns their former places */
function kept(places: Map<string, Place>, sinceMs: number): number[] {
  const former: number[] = [];
  for (const [key, place] of places) {
    if (place.lastMs < sinceMs) {
      places.delete(key);
      continue;
    }
    former.push(place.at);
    place.at = former.length - 1;
  }
  return former;
}

/** The values of these places, `width` of each, in their order; NaN of what came later than the window. */
function picked(values: Float32Array, places: readonly number[], width: number): Float32Array {
  const result = new Float32Array(places.length * width).fill(Number.NaN);
  for (const [at, place] of places.entries())
    for (let each = 0; each < width; each += 1)
      result[at * width + each] = values[place * width + each] ?? Number.NaN;
  return result;
}

function hasValue(values: Float32Array, service: number): boolean {
  const first = service * SIGNAL_NAMES.length;
  for (let at = first; at < first + SIGNAL_NAMES.length; at += 1)
    if (!Number.isNaN(values[at] ?? Number.NaN)) return true;
  return false;
}

function measured(
  windows: readonly KeptWindow[],
  of: (window: KeptWindow) => number | undefined,
): Float64Array {
  const values = new Float64Array(windows.length);
  let count = 0;
  for (const window of windows) {
    const value = of(window) ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    values[count] = value;
    count += 1;
  }
  return values.subarray(0, count);
}

function seriesOf(past: readonly KeptWindow[], now: readonly KeptWindow[], service: number): Series[] {
  const first = service * SIGNAL_NAMES.length;
  return SIGNAL_NAMES.flatMap((signal: SignalName, at): Series[] => {
    const since = measured(now, ({ values }) => values[first + at]);
    if (since.length === 0) return [];
    return [{ signal, normal: measured(past, ({ values }) => values[first + at]), now: since }];
  });
}
