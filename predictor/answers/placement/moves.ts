import type { MeasuredMove } from "@tradewind/core/contract/node-classes.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import { ownTailSeconds } from "../../decide/cost/learn/percentile.ts";
import type { PlacementGain } from "./placements.ts";
import { RECENT_WINDOWS } from "../../models/recent-windows.ts";
import { median } from "@tradewind/core/values/statistics.ts";
import { mixOf } from "../../nodes/class-mix.ts";

/** Windows from which on their median says more than chance: two and a half minutes of 15 s. */
const LEAST_WINDOWS = 10;

/** What one window says of a service. */
interface Sample {
  readonly cpuSecondsPerRequest: number;
  readonly selfTimeSeconds: number;
  readonly replicas: number;
}

/** What was expected of a move when the pods were still elsewhere, and what was measured then. */
interface Offer {
  readonly gain: PlacementGain;
  readonly before: readonly Sample[];
  /** Of windows since all pods run there, newest last. */
  after: readonly Sample[];
}

export interface OfferedMove {
  readonly gain: PlacementGain;
  /** Undefined while some of its pods run elsewhere, and for ten windows more. */
  readonly measured: MeasuredMove | undefined;
}

/**
 * Placements that were expected to gain something, until the pods really run there and for as long: then what was measured
 * before is compared with what is measured since. Windows in which a program is replaced do not count.
 */
export class Moves {
  private readonly recent = new Map<string, readonly Sample[]>();
  /** The class that all pods of a service ran on in the last window that says so. */
  private readonly only = new Map<string, string>();
  /** By service, then by class. */
  private readonly offers = new Map<string, Map<string, Offer>>();

  /** @param gains what the models expect now */
  offer(gains: readonly PlacementGain[]): void {
    const still = new Map<string, Map<string, Offer>>();
    for (const [service, offers] of this.offers) {
      const moved = [...offers].filter(([nodeClass]) => this.only.get(service) === nodeClass);
      if (moved.length > 0) still.set(service, new Map(moved));
    }
    for (const gain of gains) {
      const { nodeClass, service } = gain;
      const offers = still.get(service) ?? new Map<string, Offer>();
      if (!offers.has(nodeClass))
        offers.set(nodeClass, { gain, before: this.recent.get(service) ?? [], after: [] });
      still.set(service, offers);
    }
    this.offers.clear();
    for (const [service, offers] of still) this.offers.set(service, offers);
  }

  /** @param percentile of the objective */
  window(windows: readonly Window[], percentile: number): void {
    for (const window of windows) {
      const { service } = window;
      const mix = mixOf(window);
      if (mix.size === 0) continue;
      const [only] = mix.size === 1 ? mix.keys() : [];
      if (only === undefined) this.only.delete(service);
      else this.only.set(service, only);
      const sample = sampleOf(window, percentile);
      if (sample !== undefined) this.take(service, only, sample);
    }
  }

  /** @param only the class that all of its pods run on, if it is one */
  private take(service: string, only: string | undefined, sample: Sample): void {
    const offers = this.offers.get(service);
    const taken = only === undefined ? undefined : offers?.get(only);
    for (const [nodeClass, { after }] of offers ?? [])
      if (nodeClass !== only && after.length > 0) offers?.delete(nodeClass);
    if (taken === undefined) this.recent.set(service, newest(this.recent.get(service) ?? [], sample));
    else taken.after = newest(taken.after, sample);
  }

  list(): OfferedMove[] {
    return [...this.offers.values()].flatMap((offers) =>
      Array.from(offers.values(), ({ after, before, gain }) => ({
        gain,
        measured: measuredMove(before, after),
      })),
    );
  }
}

const newest = (samples: readonly Sample[], sample: Sample): readonly Sample[] =>
  [...samples, sample].slice(-RECENT_WINDOWS);

function sampleOf(window: Window, percentile: number): Sample | undefined {
  const { missing, newestRevisionShare = 1, ownLatency, requestsPerSecond = 0 } = window;
  const selfTimeSeconds = ownTailSeconds(ownLatency, percentile);
  const containers = mainContainers(window);
  const used = containers.map(({ cpuUsageCores }) => cpuUsageCores);
  if (missing !== undefined || newestRevisionShare < 1 || !(requestsPerSecond > 0)) return undefined;
  if (selfTimeSeconds === undefined || !used.every((cores) => cores !== undefined)) return undefined;
  const cores = used.reduce((sum, each) => sum + each, 0);
  return { cpuSecondsPerRequest: cores / requestsPerSecond, selfTimeSeconds, replicas: containers.length };
}

function measuredMove(before: readonly Sample[], after: readonly Sample[]): MeasuredMove | undefined {
  if (before.length === 0 || after.length < LEAST_WINDOWS) return undefined;
  const pair = (value: (sample: Sample) => number): { now: number; then: number } => ({
    now: median(before.map(value)),
    then: median(after.map(value)),
  });
  return {
    windows: after.length,
    cpuSecondsPerRequest: pair((each) => each.cpuSecondsPerRequest),
    selfTimeSeconds: pair((each) => each.selfTimeSeconds),
    replicas: pair((each) => each.replicas),
  };
}
