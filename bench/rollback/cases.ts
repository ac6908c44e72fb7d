import type { Rng } from "@tradewind/core/rng.ts";
import { HarmWatch } from "../../exporter/rollback/watch.ts";
import type { ServiceSight } from "../../exporter/rollback/watch.ts";

/** What happens beside a change that takes replicas away. */
export const KINDS = ["harmful", "loadStep", "deploy", "interference", "nothing"] as const;
export type Kind = (typeof KINDS)[number];

const WINDOW_SECONDS = 15;
/** The change comes after so many windows, and what else happens up to four windows later. */
const CHANGE_WINDOW = 5;
const WINDOWS = 14;
const STATIONS = ["frontend", "search", "rate"];
/** The one whose replicas go. */
const SHRUNK = 1;
const STARTED_MS = 0;
const BEGIN_MS = 3_600_000;

interface Scenario {
  readonly requestsPerSecond: number;
  readonly before: number;
  readonly after: number;
  /** From this window on. */
  readonly eventWindow: number;
  readonly loadRatio: number;
  readonly slowerRatio: number;
  readonly interference: number;
  /** Whose program is deployed or disturbed. */
  readonly station: number;
}

/** A change as it is seen, with whether it was blamed and how many windows after it. */
export interface Outcome {
  /** The latency after all was over the objective. */
  readonly missed: boolean;
  readonly firedAfterWindows: number | undefined;
}

/** One simulated case of three stations in a row, with queues first come, first served. */
export function runCase(kind: Kind, rng: Rng): Outcome {
  const scenario = drawn(kind, rng);
  const latencies = simulate(scenario, rng);
  const calm = p95(latencies.slice(1, CHANGE_WINDOW).flat());
  const objectiveSeconds = calm * (1.25 + 0.75 * rng());
  const watch = new HarmWatch();
  let firedAfterWindows: number | undefined;
  for (const [window, seconds] of latencies.entries()) {
    const harms = watch.see({
      atMs: BEGIN_MS + 1e3 * WINDOW_SECONDS * (window + 1),
      severity: seconds.length === 0 ? undefined : p95(seconds) / objectiveSeconds,
      complete: true,
      services: new Map(
        STATIONS.map((name, station) => [name, sightOf(scenario, station, window, seconds.length, rng)]),
      ),
    });
    if (harms.length > 0) firedAfterWindows ??= window - CHANGE_WINDOW;
  }
  const missed = p95(latencies.slice(-3).flat()) > 1.15 * objectiveSeconds;
  return { missed, firedAfterWindows };
}

function drawn(kind: Kind, rng: Rng): Scenario {
  const requestsPerSecond = 30 + 90 * rng();
  const between = (low: number, high: number): number => low + (high - low) * rng();
  const work = requestsPerSecond * MEAN_SECONDS;
  const before = Math.ceil(work / between(0.45, 0.6));
  const after =
    kind === "harmful"
      ? Math.max(1, Math.floor(work / between(0.97, 1.3)))
      : Math.ceil(work / between(0.6, 0.7));
  return {
    requestsPerSecond,
    before: Math.max(before, after + 1),
    after,
    eventWindow: CHANGE_WINDOW + Math.floor(5 * rng()),
    loadRatio: kind === "loadStep" ? between(1.15, 2.5) : 1,
    slowerRatio: kind === "deploy" || kind === "interference" ? between(1.2, 3) : 1,
    interference: kind === "interference" ? between(0.2, 0.8) : 0,
    station: kind === "deploy" || kind === "interference" ? Math.floor(STATIONS.length * rng()) : SHRUNK,
  };
}

const MEAN_SECONDS = 0.08;

function sightOf(
  { after, before, eventWindow, interference, slowerRatio, station }: Scenario,
  at: number,
  window: number,
  requests: number,
  rng: Rng,
): ServiceSight {
  const happens = window >= eventWindow && at === station;
  const isDeployed = happens && slowerRatio > 1 && interference === 0;
  return {
    running: { replicas: at === SHRUNK && window >= CHANGE_WINDOW ? after : before },
    requestsPerSecond: requests / WINDOW_SECONDS,
    interference: Math.max(0, (happens ? interference : 0) + 0.03 * rng()),
    youngestStartMs: isDeployed ? BEGIN_MS + 1e3 * WINDOW_SECONDS * eventWindow : STARTED_MS,
  };
}

/** @returns by window the latencies of the requests that came in it, seconds */
function simulate(scenario: Scenario, rng: Rng): number[][] {
  const { eventWindow, loadRatio, requestsPerSecond } = scenario;
  const endSeconds = WINDOWS * WINDOW_SECONDS;
  const arrivals: number[] = [];
  for (let now = 0; now < endSeconds;) {
    const rate = requestsPerSecond * (now >= eventWindow * WINDOW_SECONDS ? loadRatio : 1);
    now -= Math.log(1 - rng()) / rate;
    arrivals.push(now);
  }
  let requests = arrivals.map((began) => ({ began, at: began }));
  for (const station of STATIONS.keys()) requests = pass(requests, station, scenario, rng);
  const windows: number[][] = Array.from({ length: WINDOWS }, () => []);
  for (const { at, began } of requests) windows[Math.floor(at / WINDOW_SECONDS)]?.push(at - began);
  return windows;
}

interface Passing {
  readonly began: number;
  readonly at: number;
}

/** All requests through one station; its servers are lost at the change, the idle ones first. */
function pass(requests: readonly Passing[], station: number, scenario: Scenario, rng: Rng): Passing[] {
  const { after, before, eventWindow, slowerRatio } = scenario;
  const free: number[] = Array.from({ length: before }, () => 0);
  return requests
    .map(({ at, began }) => {
      if (station === SHRUNK && free.length > after && at >= CHANGE_WINDOW * WINDOW_SECONDS) {
        free.sort((a, b) => b - a);
        free.length = after;
      }
      let first = 0;
      for (let server = 1; server < free.length; server += 1) {
        if ((free[server] ?? 0) < (free[first] ?? 0)) first = server;
      }
      const start = Math.max(at, free[first] ?? 0);
      const isSlow = station === scenario.station && start >= eventWindow * WINDOW_SECONDS;
      const end = start + serviceSeconds(rng) * (isSlow ? slowerRatio : 1);
      free[first] = end;
      return { began, at: end };
    })
    .sort((a, b) => a.at - b.at);
}

/** Gamma of shape 2: half of it is the sum of two exponentials. */
const serviceSeconds = (rng: Rng): number =>
  (-Math.log(1 - rng()) - Math.log(1 - rng())) * (MEAN_SECONDS / 2);

function p95(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(0.95 * sorted.length))] ?? 0;
}
