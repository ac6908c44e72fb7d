import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { isServiceName } from "@tradewind/core/contract/quantity.ts";
import { entryFlow } from "../../prometheus/flow.ts";
import { singleWindow, unknownColumn } from "../../prometheus/grid.ts";
import { RedReading } from "../../prometheus/reading.ts";
import { windowsOf } from "../../prometheus/windows.ts";
import type { Interval } from "../../../window/interval.ts";
import { NO_RESOURCES } from "../../../window/resources.ts";
import type { SpanResource } from "../../../window/span.ts";
import { HEALTH_PATHS } from "../../../window/user-agent.ts";
import { DistributionSum, growth, together } from "./distribution.ts";
import type { Distribution } from "./distribution.ts";
import type { DurationPoint } from "./durations.ts";

/** What became of points. */
export interface PointsTaken {
  readonly accepted: number;
  readonly rejected: number;
  readonly reasons: Readonly<Partial<Record<PointDrop, number>>>;
}

/**
 * Why a point was not taken: `invalid-service` names no service, `too-old` and `too-far-ahead` end outside the time around now that
 * is kept, `too-long` tells of more than two minutes at once, `series-limit` is beyond the number that is held.
 */
export type PointDrop = "invalid-service" | "series-limit" | "too-far-ahead" | "too-long" | "too-old";

/** What a process measured of one kind of durations between two exports. */
interface Slice {
  readonly startMs: number;
  readonly endMs: number;
  readonly point: Pick<DurationPoint, "failed" | "peer" | "role">;
  readonly measured: Distribution;
}

/** What exports: a pod, or where its name is not stated, a start of it. */
interface Exporter {
  readonly resource: SpanResource;
  /** End of the last export and of the one before. ms since the epoch */
  lastMs: number;
  formerMs: number;
  slices: Slice[];
}

interface Series {
  measured: Distribution;
  endMs: number;
}

/** Of a predictor: those of a thousand pods that serve twenty routes and statuses each. */
export const MAX_SERIES = 20_000;
const MAX_PAST_MS = 120_000;
const MAX_AHEAD_MS = 30_000;
/** An export that tells of a longer time says nothing of a window. */
const LONGEST_SLICE_MS = 120_000;
/** The rate of the last export stands for the time after it, for as long as the next two take to come, and at least this. */
const HOLD_MS = 30_000;
/** Slices are kept for the windows that may still ask for them. */
const KEEP_MS = 150_000;
/** What exports no more is forgotten. */
const IDLE_MS = 600_000;
/** Share of a window that exports must cover to speak for all of it. */
const LEAST_COVERED = 0.5;
/** What is full is looked through at most so often. */
const FORGET_MS = 1_000;
/** A histogram of so many buckets takes the room of two with none. */
const BUCKETS_PER_SERIES = 64;
/** What came between two exports is kept a few times, for all series of a process together. */
const SLICES_PER_SERIES = 2;
/** Of one process. */
const MOST_SLICES = 1_024;

/**
 * Rate and latency of services from histograms of durations that their processes push: `http.server.request.duration` and its kin.
 * Cumulative ones are turned into what came between two exports. Exports come less often than windows: a window that they cover has
 * its part of them, one after the last export has the rate of that.
 */
export class PushedMetrics {
  readonly #maxSeries: number;
  readonly #series = new Map<string, Series>();
  readonly #exporters = new Map<string, Exporter>();
  #seriesHeld = 0;
  #slicesHeld = 0;
  #forgotMs = -Infinity;

  /** @param maxSeries of cumulative histograms, and of what came between exports, that are held */
  constructor(maxSeries = MAX_SERIES) {
    this.#maxSeries = maxSeries;
  }

  /** @param probes paths that kubelets ask for, by service: no user waits for them */
  add(
    points: readonly DurationPoint[],
    nowMs: number,
    probes: ReadonlyMap<string, readonly string[]> = new Map(),
  ): PointsTaken {
    const reasons: Partial<Record<PointDrop, number>> = {};
    let rejected = 0;
    for (const point of points) {
      if (isProbe(point, probes)) continue;
      const reason = this.#add(point, nowMs);
      if (reason === undefined) continue;
      reasons[reason] = (reasons[reason] ?? 0) + 1;
      rejected += 1;
    }
    return { accepted: points.length - rejected, rejected, reasons };
  }

  /** The windows of services that pushed such histograms, in one namespace. @param entries whose requests make one flow each */
  windows(interval: Interval, namespace: string, entries: readonly string[]): WindowSet {
    this.#forget(interval.endMs);
    const grid = singleWindow(interval.startMs, interval.endMs);
    const reading = new RedReading(grid);
    const services = Map.groupBy(this.#exporters.values(), ({ resource }) => resource.service);
    for (const [service, exporters] of services) {
      const rates = ratesOf(exporters, interval);
      if (rates === undefined) continue;
      const own = reading.of({ service, namespace });
      const { called, failedPerSecond, served } = rates;
      if (served.count > 0 || exporters.some(({ slices }) => slices.some(isServed))) {
        own.requestsPerSecond[0] = served.count;
        own.errorsPerSecond[0] = failedPerSecond;
        own.latency[0] = served.latency(grid.stepMs / 1e3);
      }
      if (called.size > 0) reading.waitingKnown = true;
      for (const [peer, { count, sum }] of called) {
        own.waitingSecondsPerSecond ??= unknownColumn(grid).fill(0);
        own.waitingSecondsPerSecond[0] = (own.waitingSecondsPerSecond[0] ?? 0) + sum;
        const callee = calleeNamed(peer, services);
        if (callee === undefined || callee === service) continue;
        const edge = reading.edge(own, callee);
        edge.callsPerSecond[0] = count;
        edge.secondsPerSecond[0] = sum;
        reading.graphKnown = true;
      }
    }
    const windows = windowsOf(reading, 0, { namespace, resources: NO_RESOURCES });
    return { ...interval, windows, flows: entries.flatMap((entry) => entryFlow(windows, entry) ?? []) };
  }

  /** Forgets everything: the clock was set. */
  clear(): void {
    this.#series.clear();
    this.#exporters.clear();
    this.#seriesHeld = 0;
    this.#slicesHeld = 0;
  }

  #add(point: DurationPoint, nowMs: number): PointDrop | undefined {
    const { endMs, resource } = point;
    if (resource.service === "" || !isServiceName(resource.service)) return "invalid-service";
    if (endMs < nowMs - MAX_PAST_MS) return "too-old";
    if (endMs > nowMs + MAX_AHEAD_MS) return "too-far-ahead";
    if (this.#isFull() && nowMs - this.#forgotMs >= FORGET_MS) this.#forget(nowMs);
    const exporter = this.#exporterOf(point);
    if (exporter === undefined) return "series-limit";
    if (endMs > exporter.lastMs) {
      exporter.formerMs = exporter.lastMs;
      exporter.lastMs = endMs;
    }
    return point.isDelta ? this.#keep(exporter, point, point.measured) : this.#follow(exporter, point);
  }

  /** What came since the last export of a cumulative histogram. */
  #follow(exporter: Exporter, point: DurationPoint): PointDrop | undefined {
    const { endMs, measured } = point;
    const key = `${point.series} ${point.startMs} ${keyOf(exporter.resource)}`;
    const before = this.#series.get(key);
    if (before === undefined) {
      if (this.#seriesHeld >= this.#maxSeries) return "series-limit";
      this.#series.set(key, { measured, endMs });
      this.#seriesHeld += weightOf(measured);
      // New within a process that has exported before, or in one that has just begun: all that it counts is new.
      const sinceMs = exporter.formerMs > 0 ? exporter.formerMs : point.startMs;
      if (sinceMs <= 0 || endMs - sinceMs > LONGEST_SLICE_MS) return undefined;
      return this.#keep(exporter, { ...point, startMs: sinceMs }, measured);
    }
    if (endMs <= before.endMs) return undefined;
    const came = growth(measured, before.measured);
    const startMs = before.endMs;
    Object.assign(before, { measured, endMs });
    return came === undefined ? undefined : this.#keep(exporter, { ...point, startMs }, came);
  }

  #keep(
    exporter: Exporter,
    { endMs, failed, peer, role, startMs }: DurationPoint,
    measured: Distribution,
  ): PointDrop | undefined {
    const sinceMs = startMs > 0 ? startMs : exporter.formerMs;
    if (sinceMs <= 0 || sinceMs >= endMs) return undefined;
    if (endMs - sinceMs > LONGEST_SLICE_MS) return "too-long";
    // Those of one export follow each other.
    for (let index = exporter.slices.length - 1; index >= 0; index -= 1) {
      const slice = exporter.slices[index];
      if (slice === undefined || slice.endMs < endMs) break;
      const { point } = slice;
      const isAlike = point.failed === failed && point.peer === peer && point.role === role;
      const isSame = isAlike && slice.startMs === sinceMs && slice.endMs === endMs;
      const both = isSame ? together(slice.measured, measured) : undefined;
      if (both === undefined) continue;
      exporter.slices[index] = { ...slice, measured: both };
      return undefined;
    }
    if (this.#slicesHeld >= SLICES_PER_SERIES * this.#maxSeries || exporter.slices.length >= MOST_SLICES)
      return "series-limit";
    exporter.slices.push({ startMs: sinceMs, endMs, point: { failed, peer, role }, measured });
    this.#slicesHeld += weightOf(measured);
    return undefined;
  }

  #exporterOf({ isDelta, resource, startMs }: DurationPoint): Exporter | undefined {
    // Processes whose pods are not named are told apart by when they began.
    const start = resource.instance === undefined && !isDelta ? startMs : undefined;
    const key = `${start ?? ""} ${keyOf(resource)}`;
    let exporter = this.#exporters.get(key);
    if (exporter === undefined && this.#exporters.size < this.#maxSeries) {
      exporter = { resource, lastMs: 0, formerMs: 0, slices: [] };
      this.#exporters.set(key, exporter);
    }
    return exporter;
  }

  #isFull(): boolean {
    const most = this.#maxSeries;
    return (
      this.#seriesHeld >= most || this.#slicesHeld >= SLICES_PER_SERIES * most || this.#exporters.size >= most
    );
  }

  #forget(nowMs: number): void {
    this.#forgotMs = nowMs;
    this.#seriesHeld = 0;
    this.#slicesHeld = 0;
    for (const [key, exporter] of this.#exporters) {
      exporter.slices = exporter.slices.filter(({ endMs }) => endMs > nowMs - KEEP_MS);
      for (const { measured } of exporter.slices) this.#slicesHeld += weightOf(measured);
      if (exporter.lastMs <= nowMs - IDLE_MS) this.#exporters.delete(key);
    }
    for (const [key, { endMs, measured }] of this.#series) {
      if (endMs <= nowMs - IDLE_MS) this.#series.delete(key);
      else this.#seriesHeld += weightOf(measured);
    }
  }
}

const weightOf = ({ buckets }: Distribution): number => 1 + buckets.counts.length / BUCKETS_PER_SERIES;

/** Users ask for `/` as well. */
function isProbe(
  { resource, role, route }: DurationPoint,
  probes: ReadonlyMap<string, readonly string[]>,
): boolean {
  if (role === "called" || route === undefined || route === "/") return false;
  return HEALTH_PATHS.includes(route) || probes.get(resource.service)?.includes(route) === true;
}

/** Many points have one resource. */
const keys = new WeakMap<SpanResource, string>();

function keyOf(resource: SpanResource): string {
  let key = keys.get(resource);
  if (key === undefined) {
    const { instance, namespace, service } = resource;
    key = JSON.stringify([service, namespace, instance]);
    keys.set(resource, key);
  }
  return key;
}

const isServed = ({ point }: Slice): boolean => point.role === "served";

interface Rates {
  /** Per second. */
  readonly served: DistributionSum;
  readonly failedPerSecond: number;
  /** By whom the calls went to. */
  readonly called: ReadonlyMap<string | undefined, DistributionSum>;
}

/** What the processes of a service did per second; undefined where most of them are silent, since the rest would be too little. */
function ratesOf(exporters: readonly Exporter[], interval: Interval): Rates | undefined {
  const served = new DistributionSum();
  const called = new Map<string | undefined, DistributionSum>();
  let failedPerSecond = 0;
  let silent = 0;
  let speaking = 0;
  for (const exporter of exporters) {
    const shares = sharesOf(exporter, interval);
    if (shares === undefined) silent += exporter.lastMs > interval.startMs - LONGEST_SLICE_MS ? 1 : 0;
    else speaking += 1;
    for (const [{ measured, point }, perSecond] of shares ?? []) {
      if (measured.count === 0) continue;
      if (point.role === "served") {
        served.add(measured, perSecond);
        if (point.failed) failedPerSecond += measured.count * perSecond;
      } else {
        const calls = called.get(point.peer) ?? new DistributionSum();
        calls.add(measured, perSecond);
        called.set(point.peer, calls);
      }
    }
  }
  return speaking === 0 || silent > speaking ? undefined : { served, failedPerSecond, called };
}

/** Which slices tell of the window, and what part of each is one second's; undefined where none does. */
function sharesOf({ lastMs, slices }: Exporter, { endMs, startMs }: Interval): [Slice, number][] | undefined {
  const inside = slices.filter((slice) => slice.endMs > startMs && slice.startMs < endMs);
  const coveredMs = covered(inside, startMs, endMs);
  if (coveredMs >= LEAST_COVERED * (endMs - startMs)) {
    return inside.map((slice) => {
      const overlapMs = Math.min(slice.endMs, endMs) - Math.max(slice.startMs, startMs);
      return [slice, (1e3 * overlapMs) / (slice.endMs - slice.startMs) / coveredMs];
    });
  }
  const last = slices.filter((slice) => slice.endMs === lastMs);
  const lastedMs = Math.max(...last.map((slice) => slice.endMs - slice.startMs));
  if (last.length === 0 || lastMs > endMs || endMs - lastMs > Math.max(HOLD_MS, 2 * lastedMs))
    return undefined;
  return last.map((slice) => [slice, 1e3 / (slice.endMs - slice.startMs)]);
}

/** How much of the time the slices cover together, ms. */
function covered(slices: readonly Slice[], startMs: number, endMs: number): number {
  let total = 0;
  let reachedMs = startMs;
  for (const slice of [...slices].sort((a, b) => a.startMs - b.startMs)) {
    const fromMs = Math.max(reachedMs, slice.startMs);
    const toMs = Math.min(endMs, slice.endMs);
    total += Math.max(0, toMs - fromMs);
    reachedMs = Math.max(reachedMs, toMs);
  }
  return total;
}

/** The service at an address: its name, or a name of the cluster's DNS that begins with it. */
function calleeNamed(peer: string | undefined, services: ReadonlyMap<string, unknown>): string | undefined {
  if (peer === undefined) return undefined;
  if (services.has(peer)) return peer;
  const [first = ""] = peer.split(".");
  return services.has(first) ? first : undefined;
}
