import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { Interference, InterferenceComponent } from "@tradewind/core/contract/interference.ts";
import type { ContainerSample, Snapshot } from "@tradewind/core/contract/snapshot.ts";

/** What one container did over an interval. Absent means not measured. */
export interface ContainerUse {
  readonly node: string;
  readonly cpuLimitCores?: number;
  readonly cpuUsageCores?: number;
  readonly cpuThrottledRatio?: number;
  readonly memoryLimitBytes?: number;
  readonly memoryWorkingSetBytes?: number;
  readonly interference?: Interference;
}

/** Why a measurement was dropped: `reset` counter went back, `implausible` more CPU than the node has, `limit` too many. */
export const MEASUREMENT_DROPS = ["reset", "implausible", "limit"] as const;
export type MeasurementDrop = (typeof MEASUREMENT_DROPS)[number];

interface Point {
  /** When the container was read, on this process's clock. */
  readonly atMs: number;
  readonly sample: ContainerSample;
}

interface Series {
  readonly source: string;
  node: string;
  nodeCores: number;
  agentStartedAtMs: number;
  /** Oldest first. */
  points: Point[];
}

/** An interval must be covered by readings to this share for a rate to stand for it. */
const COVERAGE = 0.5;
/** Clocks and schedulers round: a container may seem to use slightly more than the node has. */
const PLAUSIBLE_FACTOR = 1.1;
/** A step of our clock against the agent's by more than this begins a series anew. */
const CLOCK_STEP_MS = 1_500;

export interface ContainerRatesOptions {
  /** Readings older than this are dropped. */
  readonly keepSeconds: number;
  readonly maxContainers: number;
  readonly onDrop: (reason: MeasurementDrop) => void;
}

/**
 * Turns cumulative counters of containers into use over an interval. Times are on this process's clock: when the snapshot
 * came less the age that the agent states, so that the nodes' clocks have no part in it. A counter that goes back, or an
 * agent that restarted, begins a series anew: no rate is formed across it.
 */
export class ContainerRates {
  private readonly series = new Map<string, Series>();
  private readonly options: ContainerRatesOptions;

  constructor(options: ContainerRatesOptions) {
    this.options = options;
  }

  /** Containers known. */
  get size(): number {
    return this.series.size;
  }

  /** @param source tells agents apart: the address it was asked at */
  record(source: string, snapshot: Snapshot, receivedAtMs: number): void {
    for (const sample of snapshot.containers) {
      const id = containerKey(sample.id);
      const atMs = receivedAtMs - sample.ageSeconds * 1e3;
      const series = this.seriesFor(id, source, snapshot);
      if (series === undefined) continue;
      this.append(series, { atMs, sample });
    }
    this.forget(receivedAtMs);
  }

  /** Use over [startMs, endMs) by container id without the runtime's prefix. */
  over(startMs: number, endMs: number): ReadonlyMap<string, ContainerUse> {
    const uses = new Map<string, ContainerUse>();
    for (const [id, series] of this.series) {
      const use = this.useOf(series, startMs, endMs);
      if (use !== undefined) uses.set(id, use);
    }
    return uses;
  }

  private seriesFor(id: string, source: string, snapshot: Snapshot): Series | undefined {
    const known = this.series.get(id);
    const same = known?.source === source && known.agentStartedAtMs === snapshot.agentStartedAtMs;
    if (known !== undefined && same) {
      known.node = snapshot.node;
      known.nodeCores = snapshot.capacity.cpuCores;
      return known;
    }
    if (known === undefined && this.series.size >= this.options.maxContainers) {
      this.options.onDrop("limit");
      return undefined;
    }
    const fresh: Series = {
      source,
      node: snapshot.node,
      nodeCores: snapshot.capacity.cpuCores,
      agentStartedAtMs: snapshot.agentStartedAtMs,
      points: [],
    };
    this.series.set(id, fresh);
    return fresh;
  }

  private append(series: Series, point: Point): void {
    const last = series.points.at(-1);
    if (last !== undefined && point.sample.sampledAtMs === last.sample.sampledAtMs) return;
    if (last !== undefined && (hasReset(last.sample, point.sample) || clockStepped(last, point))) {
      this.options.onDrop("reset");
      series.points = [];
    } else if (last !== undefined && point.atMs <= last.atMs) return;
    series.points.push(point);
  }

  private forget(nowMs: number): void {
    const oldestMs = nowMs - this.options.keepSeconds * 1e3;
    for (const [id, series] of this.series) {
      const newest = series.points.at(-1);
      if (newest === undefined || newest.atMs < oldestMs) {
        this.series.delete(id);
        continue;
      }
      const firstKept = series.points.findIndex(({ atMs }) => atMs >= oldestMs);
      // The reading before the interval is needed to interpolate its start.
      if (firstKept > 1) series.points.splice(0, firstKept - 1);
    }
  }

  private useOf(series: Series, startMs: number, endMs: number): ContainerUse | undefined {
    const inside = series.points.filter(({ atMs }) => atMs >= startMs && atMs < endMs);
    const newest = inside.at(-1)?.sample;
    if (newest === undefined) return undefined;
    const cpuUsageCores = this.plausible(cpuUse(series.points, inside, startMs, endMs), series.nodeCores);
    const cpuThrottledRatio = throttledRatio(series.points, startMs, endMs);
    const { limitCores } = newest.cpu;
    const { limitBytes, workingSetBytes } = newest.memory;
    return {
      node: series.node,
      interference: meanInterference(inside.map(({ sample }) => sample.interference)) ?? newest.interference,
      ...(limitCores !== undefined && { cpuLimitCores: limitCores }),
      ...(cpuUsageCores !== undefined && { cpuUsageCores }),
      ...(cpuThrottledRatio !== undefined && { cpuThrottledRatio }),
      ...(limitBytes !== undefined && { memoryLimitBytes: limitBytes }),
      ...(workingSetBytes !== undefined && { memoryWorkingSetBytes: workingSetBytes }),
    };
  }

  private plausible(usageCores: number | undefined, nodeCores: number): number | undefined {
    if (usageCores === undefined || usageCores <= nodeCores * PLAUSIBLE_FACTOR) return usageCores;
    this.options.onDrop("implausible");
    return undefined;
  }
}

/** The id without the runtime's prefix, as in `containerd://4f1e…`. */
export function containerKey(id: string): string {
  const scheme = id.indexOf("://");
  return scheme === -1 ? id : id.slice(scheme + 3);
}

const COUNTERS = ["usageSecondsTotal", "periodsTotal", "throttledPeriodsTotal"] as const;
type CounterName = (typeof COUNTERS)[number];

function hasReset(before: ContainerSample, after: ContainerSample): boolean {
  return COUNTERS.some((name) => {
    const now = after.cpu[name];
    const then = before.cpu[name];
    return now !== undefined && then !== undefined && now < then;
  });
}

/** One of the two clocks was set between the readings: it is not known how much time lies between them. */
function clockStepped(before: Point, after: Point): boolean {
  const ours = after.atMs - before.atMs;
  const theirs = after.sample.sampledAtMs - before.sample.sampledAtMs;
  return Math.abs(ours - theirs) > CLOCK_STEP_MS;
}

/** The counter's rise within the interval, or the agent's own last mean where readings cover too little of it. */
function cpuUse(
  points: readonly Point[],
  inside: readonly Point[],
  startMs: number,
  endMs: number,
): number | undefined {
  const rise = riseWithin(points, "usageSecondsTotal", startMs, endMs);
  if (rise !== undefined) return rise.amount / rise.seconds;
  return inside.at(-1)?.sample.cpu.usageCores;
}

function throttledRatio(points: readonly Point[], startMs: number, endMs: number): number | undefined {
  const periods = riseWithin(points, "periodsTotal", startMs, endMs);
  const throttled = riseWithin(points, "throttledPeriodsTotal", startMs, endMs);
  if (periods === undefined || throttled === undefined || periods.amount <= 0) return undefined;
  return Math.min(1, throttled.amount / periods.amount);
}

interface Rise {
  readonly amount: number;
  readonly seconds: number;
}

/**
 * How much a counter rose within the interval, read between the readings around its ends, and the time that this covers;
 * undefined when that is too little.
 */
function riseWithin(
  points: readonly Point[],
  name: CounterName,
  startMs: number,
  endMs: number,
): Rise | undefined {
  const known = points.flatMap(({ atMs, sample }) => {
    const value = sample.cpu[name];
    return value === undefined ? [] : [{ atMs, value }];
  });
  const first = known.find(({ atMs }) => atMs >= startMs);
  const last = known.findLast(({ atMs }) => atMs <= endMs);
  if (first === undefined || last === undefined || last.atMs < first.atMs) return undefined;
  const before = known.findLast(({ atMs }) => atMs < startMs);
  const after = known.find(({ atMs }) => atMs > endMs);
  const from = before === undefined ? first : between(before, first, startMs);
  const to = after === undefined ? last : between(last, after, endMs);
  const seconds = (to.atMs - from.atMs) / 1e3;
  if (seconds <= 0 || seconds * 1e3 < COVERAGE * (endMs - startMs)) return undefined;
  return { amount: Math.max(0, to.value - from.value), seconds };
}

interface Reading {
  readonly atMs: number;
  readonly value: number;
}

function between(from: Reading, to: Reading, atMs: number): Reading {
  if (to.atMs <= from.atMs) return to;
  return { atMs, value: from.value + ((to.value - from.value) * (atMs - from.atMs)) / (to.atMs - from.atMs) };
}

function meanInterference(samples: readonly Interference[]): Interference | undefined {
  if (samples.length === 0) return undefined;
  const components = INTERFERENCE_COMPONENTS.map(
    (name) => [name, meanComponent(samples.map((sample) => sample[name]))] as const,
  );
  return Object.fromEntries(components) as Interference;
}

function meanComponent(samples: readonly InterferenceComponent[]): InterferenceComponent {
  const values = samples.flatMap(({ value }) => (value === undefined ? [] : [value]));
  const { supported, source } = samples.at(-1) ?? { supported: false };
  return {
    supported,
    ...(values.length > 0 && { value: values.reduce((sum, value) => sum + value, 0) / values.length }),
    ...(source !== undefined && { source }),
  };
}
