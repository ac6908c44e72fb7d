import type { Observation } from "./observation.ts";

/** Growth under this factor is noise. */
const NOTICEABLE = 1.05;

/** Rounds in which growth is handed on to callees: longer call chains than this feel it a window later. */
const MOST_ROUNDS = 32;

/**
 * Requests per second that arrive at a service: those it answered, and what the number of requests in it grew by (Little's
 * law in both windows). Never fewer than it answered.
 */
export function arrivalsPerSecond({ memory, queue, window }: Observation): number {
  const answered = window?.requestsPerSecond ?? 0;
  const before = memory?.inFlight;
  const seconds = ((window?.endMs ?? 0) - (window?.startMs ?? 0)) / 1e3;
  if (before === undefined || queue?.inFlight === undefined || !(seconds > 0)) return answered;
  return answered + Math.max(0, queue.inFlight - before) / seconds;
}

/** Of the requests counted as they begin, those that run longest are not known in time: with fewer than this share nothing is. */
const COUNTED_SHARE = 0.7;

/**
 * Requests that arrived at the application over those that it answered, where their beginnings were counted: more while a
 * queue builds up, fewer while one is worked off. Undefined where they were not, or hardly any were known in time.
 * @param answeredPerSecond of all flows that enter there
 */
export function countedArrivalRatio(
  entry: Observation | undefined,
  answeredPerSecond: number,
): number | undefined {
  const began = entry?.window?.beganPerSecond;
  if (began === undefined || !(answeredPerSecond > 0)) return undefined;
  const ratio = began / answeredPerSecond;
  return ratio >= COUNTED_SHARE ? ratio : undefined;
}

/** What is known of the load to come, apart from what each service shows by itself. */
export interface Outlook {
  /** The largest factor believed. */
  readonly mostGrowth: number;
  /** Load of the next window over that of this one, as its trend has it; at least 1. */
  readonly rise?: number;
  /** See {@link countedArrivalRatio}, and where it was counted. */
  readonly counted?: { readonly service: string; readonly ratio: number } | undefined;
}

/**
 * Requests per second that each service has to be ready for, where that is noticeably more than it served. What arrives is
 * seen in the requests that are in it, and in its CPU demand: the growth of its queue and what throttling hides (see
 * demand.ts). What a service will answer once it has the capacity then reaches the services it calls, in proportion to
 * their share of calls from it. Where arrivals were counted they are known better than any of this tells, and answers to
 * what waited before are no load to come.
 */
export function loadAhead(
  observations: readonly Observation[],
  { mostGrowth, rise = 1, counted }: Outlook,
): ReadonlyMap<string, number> {
  const factors = new Map(
    observations.map((one) => [
      one.service,
      one.service === counted?.service
        ? noticeable(counted.ratio, mostGrowth)
        : noticeable(ownFactor(one), mostGrowth),
    ]),
  );
  const stillToCome = Math.min(1, counted?.ratio ?? 1);
  const shares = callerShares(observations);
  for (let round = 0; round < MOST_ROUNDS && handOn(factors, shares, mostGrowth); round += 1);
  const ahead = new Map<string, number>();
  for (const { service, window } of observations) {
    const factor = Math.min(mostGrowth, rise * stillToCome * (factors.get(service) ?? 1));
    if (factor >= NOTICEABLE) ahead.set(service, factor * (window?.requestsPerSecond ?? 0));
  }
  return ahead;
}

function noticeable(factor: number, mostGrowth: number): number {
  return factor >= NOTICEABLE ? Math.min(mostGrowth, factor) : 1;
}

function ownFactor(observation: Observation): number {
  const { demand, window } = observation;
  const answered = window?.requestsPerSecond ?? 0;
  if (!(answered > 0)) return 1;
  const served = (demand?.secondsPerRequest ?? 0) * answered;
  const byDemand = demand === undefined || !(served > 0) ? 1 : demand.cores / served;
  return Math.max(byDemand, arrivalsPerSecond(observation) / answered);
}

interface CallerShare {
  readonly caller: string;
  /** Share of the callee's requests that come from this caller. */
  readonly share: number;
}

function callerShares(observations: readonly Observation[]): ReadonlyMap<string, readonly CallerShare[]> {
  const rates = new Map(observations.map(({ service, window }) => [service, window?.requestsPerSecond ?? 0]));
  const shares = new Map<string, CallerShare[]>();
  for (const { service: caller, window } of observations) {
    for (const { callee, callsPerSecond } of window?.callees ?? []) {
      const rate = rates.get(callee) ?? 0;
      if (callee === caller || !(rate > 0)) continue;
      const known = shares.get(callee) ?? [];
      known.push({ caller, share: Math.min(1, callsPerSecond / rate) });
      shares.set(callee, known);
    }
  }
  return shares;
}

/** @returns whether any factor rose noticeably */
function handOn(
  factors: Map<string, number>,
  shares: ReadonlyMap<string, readonly CallerShare[]>,
  mostGrowth: number,
): boolean {
  let rose = false;
  for (const [callee, callers] of shares) {
    const before = factors.get(callee) ?? 1;
    const growth = callers.reduce(
      (sum, { caller, share }) => sum + share * ((factors.get(caller) ?? 1) - 1),
      0,
    );
    const factor = Math.min(mostGrowth, 1 + growth);
    if (factor <= before * 1.001) continue;
    factors.set(callee, factor);
    rose = true;
  }
  return rose;
}
