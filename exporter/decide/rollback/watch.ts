import { mean } from "@tradewind/core/values/statistics.ts";
import type { Allocation } from "@tradewind/core/contract/plan.ts";

/** One service in one window. */
export interface ServiceSight {
  readonly running: Partial<Allocation>;
  readonly requestsPerSecond: number | undefined;
  /** CPU interference on its nodes, 0 to 1. */
  readonly interference: number | undefined;
  readonly youngestStartMs: number | undefined;
}

/** One window of an application, as far as changes are judged by it. */
export interface Sight {
  readonly atMs: number;
  /** Measured latency over the objective, or failed requests over those that may be late; undefined where it is not known. */
  readonly severity: number | undefined;
  readonly complete: boolean;
  readonly services: ReadonlyMap<string, ServiceSight>;
  /** What the plan says of the requests over the objective; absent where it counts none. */
  readonly spending?: Spending | undefined;
}

/** Shares of the requests that are over the objective. */
export interface Spending {
  /** In the last minutes. */
  readonly recentRatio: number;
  /** That plans spend of the error budget. */
  readonly plannedRatio: number;
  /** That this plan expects. */
  readonly expectedRatio: number;
}

/** A change that did harm, and what ran before it. */
export interface Harm {
  readonly service: string;
  readonly before: Partial<Allocation>;
}

/** Windows in which the objective must have been met before, and missed after a change. */
const WINDOWS = 2;
/** Windows in which a change is watched. */
const WATCHED = 5;
/** Windows further apart than so many lengths have nothing to do with one another. */
const MOST_WINDOWS_APART = 4;
/** Severity after the change, over that before. */
const WORSE_RATIO = 1.1;
/** What is no fault of the change: more load, a noisy neighbour. */
const MORE_LOAD_RATIO = 1.15;
const MORE_INTERFERENCE = 0.2;

interface WatchedChange extends Harm {
  /** The windows before it. */
  readonly reference: readonly Sight[];
  readonly after: Sight[];
}

/**
 * Watches what becomes of the latency after less runs than before. It blames the change only where the objective was met before it and is
 * missed after it by more than the error budget allows and the plan expected, and neither the load nor the interference rose, nothing was
 * deployed or restarted, and no data is missing.
 */
export class HarmWatch {
  #before: readonly Sight[] = [];
  readonly #watched = new Map<string, WatchedChange>();

  /** Takes the next window. @returns the changes that did harm, each once */
  see(sight: Sight): Harm[] {
    if (this.#isAfterGap(sight)) {
      this.#before = [];
      this.#watched.clear();
    }
    for (const change of this.#shrunk(sight)) {
      this.#watched.set(change.service, together(this.#watched.get(change.service), change));
    }
    const harms: Harm[] = [];
    for (const watched of this.#watched.values()) {
      watched.after.push(sight);
      const verdict = judge(watched);
      if (verdict === "open") continue;
      this.#watched.delete(watched.service);
      if (verdict === "harm") harms.push({ service: watched.service, before: watched.before });
    }
    this.#before = [...this.#before, sight].slice(-WINDOWS);
    return harms;
  }

  /** Nobody knows what happened since the window before: a change in between is not judged by it. */
  #isAfterGap({ atMs }: Sight): boolean {
    const [earlier, last] = this.#before.slice(-2);
    if (earlier === undefined || last === undefined) return false;
    return atMs - last.atMs > MOST_WINDOWS_APART * (last.atMs - earlier.atMs);
  }

  /** Services of which less runs than in the window before, where the objective was met until then. */
  *#shrunk({ services }: Sight): Generator<WatchedChange> {
    const reference = this.#before;
    const last = reference.at(-1);
    if (last === undefined || reference.length < WINDOWS || !reference.every(isMet)) return;
    for (const [service, { running }] of services) {
      const before = last.services.get(service)?.running ?? {};
      if (isLess(running, before)) yield { service, before, reference, after: [] };
    }
  }
}

/** A change that comes in several steps is one: it is judged by what was before the first, and from the last on. */
function together(earlier: WatchedChange | undefined, change: WatchedChange): WatchedChange {
  if (earlier === undefined) return change;
  return { ...earlier, before: { ...change.before, ...earlier.before }, after: [] };
}

const isMet = ({ complete, severity }: Sight): boolean => complete && severity !== undefined && severity <= 1;
const isMissed = ({ severity }: Sight): boolean => severity !== undefined && severity > 1;

/** The minutes since have spent no more than plans may, or than the plan that made the change expected. */
function isWithinBudget({ reference }: WatchedChange, { spending }: Sight): boolean {
  if (spending === undefined) return false;
  const { expectedRatio = 0 } = reference.at(-1)?.spending ?? {};
  return spending.recentRatio <= Math.max(spending.plannedRatio, expectedRatio);
}

function isLess(now: Partial<Allocation>, before: Partial<Allocation>): boolean {
  return (["cpuCores", "memoryBytes", "replicas"] as const).some(
    (size) => (now[size] ?? Infinity) < (before[size] ?? 0),
  );
}

function judge(watched: WatchedChange): "open" | "harm" | "none" {
  const { after, reference } = watched;
  const newest = after.slice(-WINDOWS);
  if (after.some(({ complete }) => !complete)) return "none";
  const [last] = after.slice(-1);
  const isSpent = last !== undefined && !isWithinBudget(watched, last);
  if (isSpent && newest.length === WINDOWS && newest.every(isMissed)) {
    const ratio =
      mean(
        newest.map(({ severity = 0 }) => severity),
        0,
      ) /
      mean(
        reference.map(({ severity = 0 }) => severity),
        0,
      );
    return ratio >= WORSE_RATIO && !isElsewhere(watched, newest) ? "harm" : "none";
  }
  return after.length >= WATCHED + WINDOWS - 1 ? "none" : "open";
}

/** Something else explains the latency. */
function isElsewhere({ reference, service }: WatchedChange, newest: readonly Sight[]): boolean {
  const total = (sight: Sight): number =>
    [...sight.services.values()].reduce((sum, { requestsPerSecond = 0 }) => sum + requestsPerSecond, 0);
  const own = ({ services }: Sight): number => services.get(service)?.requestsPerSecond ?? 0;
  if ([total, own].some((load) => latest(newest, load) > MORE_LOAD_RATIO * mean(reference.map(load), 0)))
    return true;
  return [...(newest.at(-1)?.services.keys() ?? [])].some(
    (each) => isDisturbed(each, reference, newest) || isReplaced(each, reference, newest),
  );
}

function isDisturbed(service: string, reference: readonly Sight[], newest: readonly Sight[]): boolean {
  const of = ({ services }: Sight): number => services.get(service)?.interference ?? 0;
  return latest(newest, of) - mean(reference.map(of), 0) > MORE_INTERFERENCE;
}

/** A replica began after the first window of the reference although no more are wanted: a deploy, or a restart. */
function isReplaced(service: string, [first]: readonly Sight[], newest: readonly Sight[]): boolean {
  const [now, before] = [newest.at(-1)?.services.get(service), first?.services.get(service)];
  if (first === undefined || now?.youngestStartMs === undefined || now.youngestStartMs <= first.atMs)
    return false;
  return (now.running.replicas ?? 0) <= (before?.running.replicas ?? 0);
}

/** What began in the middle of the first of the windows shows whole in the last alone. */
const latest = (newest: readonly Sight[], of: (sight: Sight) => number): number =>
  Math.max(mean(newest.map(of), 0), ...newest.slice(-1).map(of));
