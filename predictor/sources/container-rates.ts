import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { Interference, InterferenceComponent } from "@tradewind/core/contract/interference.ts";
import type { ContainerSample, Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { AgentClock } from "./agent-clock.ts";
import type { Exchange } from "./agent-clock.ts";
import { InterferenceTrace } from "./interference-trace.ts";

/** What one container did over an interval. Absent means not measured. */
export interface ContainerUse {
  readonly node: string;
  readonly cpuLimitCores?: number;
  readonly cpuUsageCores?: number;
  readonly cpuThrottledRatio?: number;
  readonly memoryLimitBytes?: number;
  readonly memoryWorkingSetBytes?: number;
  readonly diskBytesPerSecond?: number;
  /** Kills for lack of memory that were read within the interval. */
  readonly oomKills?: number;
  readonly interference?: Interference;
}

/** Why a measurement was dropped: `reset` counter went back, `implausible` more CPU than the node has, `limit` too many. */
export const MEASUREMENT_DROPS = ["reset", "implausible", "limit"] as const;
export type MeasurementDrop = (typeof MEASUREMENT_DROPS)[number];

interface Point {
  /** When the container was read, on the agent's clock. */
  readonly atMs: number;
  readonly sample: ContainerSample;
}

interface Series {
  readonly source: string;
  node: string;
  nodeCores: number;
  agentStartedAtMs: number;
  readonly clock: AgentClock;
  /** When a snapshot last told of the container, on the agent's clock. */
  seenAtMs: number;
  /** Oldest first. */
  points: Point[];
  /** As of the newest snapshot: it moves with the node, also while the container itself is not read. */
  interference: Interference;
  trace: InterferenceTrace;
}

/** An interval must be covered by readings to this share for their rate to stand for it. */
const COVERAGE = 0.5;
/**
 * An agent reads a container that hardly changes less often, at least once a minute; as long as it tells of the container
 * the last reading stands.
 */
const HOLD_MS = 75_000;
/** A container that no snapshot told of for so long before the end of an interval is not known in it. */
const UNSEEN_MS = 5_000;
/** Clocks and schedulers round: a container may seem to use slightly more than the node has. */
const PLAUSIBLE_FACTOR = 1.1;

export interface ContainerRatesOptions {
  /** Readings older than this are dropped. */
  readonly keepSeconds: number;
  readonly maxContainers: number;
  readonly onDrop: (reason: MeasurementDrop) => void;
}

/**
 * Turns cumulative counters of containers into use over an interval. The time between two readings is the agent's own; where an interval
 * lies among them follows from when its answers came ({@link AgentClock}), so that it may be hours off. A counter that goes back, a clock
 * that was set, or an agent that restarted, begins a series anew: no rate is formed across it. An agent that reads seldom because little
 * changes is believed: its last reading holds while its snapshots keep coming.
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
  record(source: string, snapshot: Snapshot, exchange: Exchange): void {
    for (const sample of snapshot.containers) {
      const id = containerKey(sample.id);
      const ageMs = sample.ageSeconds * 1e3;
      const series = this.seriesFor(id, source, snapshot, sample.interference);
      if (series === undefined) continue;
      if (!series.clock.hear(sample.sampledAtMs, ageMs, exchange)) this.restart(series);
      series.seenAtMs = sample.sampledAtMs + ageMs;
      series.interference = sample.interference;
      if (sample.interferenceSecondsTotal !== undefined)
        series.trace.add(series.seenAtMs, sample.interferenceSecondsTotal);
      this.append(series, { atMs: sample.sampledAtMs, sample });
    }
    this.forget(exchange.answeredAtMs);
  }

  /** Forgets all readings: the clock by which they were taken was set. */
  clear(): void {
    this.series.clear();
  }

  /** Use over [startMs, endMs) by container id without the runtime's prefix. */
  over(startMs: number, endMs: number): ReadonlyMap<string, ContainerUse> {
    const uses = new Map<string, ContainerUse>();
    for (const [id, series] of this.series) {
      const { clock } = series;
      const use = this.useOf(series, clock.fromOurs(startMs), clock.fromOurs(endMs));
      if (use !== undefined) uses.set(id, use);
    }
    return uses;
  }

  private seriesFor(
    id: string,
    source: string,
    snapshot: Snapshot,
    interference: Interference,
  ): Series | undefined {
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
      clock: new AgentClock(),
      seenAtMs: 0,
      points: [],
      interference,
      trace: new InterferenceTrace(this.options.keepSeconds),
    };
    this.series.set(id, fresh);
    return fresh;
  }

  private append(series: Series, point: Point): void {
    const last = series.points.at(-1);
    if (last !== undefined && point.atMs <= last.atMs) return;
    if (last !== undefined && hasReset(last.sample, point.sample)) this.restart(series);
    series.points.push(point);
  }

  private restart(series: Series): void {
    this.options.onDrop("reset");
    series.points = [];
    series.trace = new InterferenceTrace(this.options.keepSeconds);
  }

  private forget(nowMs: number): void {
    for (const [id, { clock, points, seenAtMs }] of this.series) {
      const oldestMs = clock.fromOurs(nowMs) - this.options.keepSeconds * 1e3;
      if (seenAtMs < oldestMs) this.series.delete(id);
      // Two readings before the interval are needed: for its start, and for a rate that holds.
      const newer = points.findIndex(({ atMs }) => atMs >= oldestMs);
      const excess = (newer === -1 ? points.length : newer) - 2;
      if (excess > 0) points.splice(0, excess);
    }
  }

  private useOf(series: Series, startMs: number, endMs: number): ContainerUse | undefined {
    const newest = series.points.findLast(({ atMs }) => atMs < endMs);
    const unseenMs = Math.max(UNSEEN_MS, (endMs - startMs) / 2);
    if (newest === undefined || newest.atMs < endMs - HOLD_MS || series.seenAtMs < endMs - unseenMs)
      return undefined;
    const { cpu, memory } = newest.sample;
    const cpuUsageCores = this.plausible(
      cpuUse(series.points, cpu.usageCores, startMs, endMs),
      series.nodeCores,
    );
    const cpuThrottledRatio = throttledRatio(series.points, startMs, endMs);
    const oomKills = oomKillsWithin(series.points, startMs, endMs);
    const diskBytesPerSecond = diskUse(series.points, startMs, endMs);
    return {
      node: series.node,
      interference: interferenceOver(series, startMs, endMs),
      ...(cpu.limitCores !== undefined && { cpuLimitCores: cpu.limitCores }),
      ...(cpuUsageCores !== undefined && { cpuUsageCores }),
      ...(cpuThrottledRatio !== undefined && { cpuThrottledRatio }),
      ...(memory.limitBytes !== undefined && { memoryLimitBytes: memory.limitBytes }),
      ...(memory.workingSetBytes !== undefined && { memoryWorkingSetBytes: memory.workingSetBytes }),
      ...(diskBytesPerSecond !== undefined && { diskBytesPerSecond }),
      ...(oomKills !== undefined && { oomKills }),
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

/** The counter's rise within the interval, else the agent's own last mean, else the last rise seen. */
function cpuUse(
  points: readonly Point[],
  heldCores: number | undefined,
  startMs: number,
  endMs: number,
): number | undefined {
  const readings = readingsOf(points, "usageSecondsTotal");
  const rise = riseWithin(readings, startMs, endMs);
  if (rise !== undefined) return rise.amount / rise.seconds;
  const held = lastRise(readings, endMs);
  return heldCores ?? (held && held.amount / held.seconds);
}

function throttledRatio(points: readonly Point[], startMs: number, endMs: number): number | undefined {
  const risen = (name: CounterName): Rise | undefined => {
    const readings = readingsOf(points, name);
    return riseWithin(readings, startMs, endMs) ?? lastRise(readings, endMs);
  };
  const periods = risen("periodsTotal");
  const throttled = risen("throttledPeriodsTotal");
  if (periods === undefined || throttled === undefined || periods.amount <= 0) return undefined;
  return Math.min(1, throttled.amount / periods.amount);
}

/** Bytes per second; a device that went takes no more than what it counted with it. */
function diskUse(points: readonly Point[], startMs: number, endMs: number): number | undefined {
  const readings = points.flatMap(({ atMs, sample: { io } }): CounterReading[] =>
    io?.readBytesTotal === undefined || io.writtenBytesTotal === undefined
      ? []
      : [{ atMs, value: io.readBytesTotal + io.writtenBytesTotal }],
  );
  const rise = riseWithin(readings, startMs, endMs) ?? lastRise(readings, endMs);
  return rise === undefined ? undefined : Math.max(0, rise.amount) / rise.seconds;
}

interface Rise {
  readonly amount: number;
  readonly seconds: number;
}

interface CounterReading {
  readonly atMs: number;
  readonly value: number;
}

function readingsOf(points: readonly Point[], name: CounterName): readonly CounterReading[] {
  return points.flatMap(({ atMs, sample }) => {
    const value = sample.cpu[name];
    return value === undefined ? [] : [{ atMs, value }];
  });
}

/**
 * How much a counter rose within the interval, read between the readings around its ends, and the time that this covers;
 * undefined when that is too little.
 */
function riseWithin(readings: readonly CounterReading[], startMs: number, endMs: number): Rise | undefined {
  const from = readingAt(readings, startMs) ?? readings.find(({ atMs }) => atMs >= startMs);
  const to = readingAt(readings, endMs) ?? readings.findLast(({ atMs }) => atMs <= endMs);
  if (from === undefined || to === undefined) return undefined;
  const seconds = (to.atMs - from.atMs) / 1e3;
  if (seconds <= 0 || seconds * 1e3 < COVERAGE * (endMs - startMs)) return undefined;
  return { amount: Math.max(0, to.value - from.value), seconds };
}

/** Between the last two readings before the end. */
function lastRise(readings: readonly CounterReading[], endMs: number): Rise | undefined {
  const [before, last] = readings.filter(({ atMs }) => atMs <= endMs).slice(-2);
  if (before === undefined || last === undefined) return undefined;
  return { amount: last.value - before.value, seconds: (last.atMs - before.atMs) / 1e3 };
}

/** The counter at a time between two readings; undefined outside of them. */
function readingAt(readings: readonly CounterReading[], atMs: number): CounterReading | undefined {
  const before = readings.findLast((reading) => reading.atMs <= atMs);
  const after = readings.find((reading) => reading.atMs > atMs);
  if (before === undefined || after === undefined) return undefined;
  const share = (atMs - before.atMs) / (after.atMs - before.atMs);
  return { atMs, value: before.value + (after.value - before.value) * share };
}

/**
 * Rise of the counter between the last reading before the interval and the last one in it: each kill counts in exactly one
 * window. 0 when nothing was read meanwhile; undefined where the counter is not known from before.
 */
function oomKillsWithin(points: readonly Point[], startMs: number, endMs: number): number | undefined {
  const killsBefore = (atMs: number): number | undefined =>
    points.findLast((point) => point.atMs < atMs && point.sample.memory.oomKillsTotal !== undefined)?.sample
      .memory.oomKillsTotal;
  const from = killsBefore(startMs);
  const to = killsBefore(endMs);
  return from === undefined || to === undefined ? undefined : Math.max(0, to - from);
}

/** Means over the interval; where the agent gave no integrals, the mean of what it found each time it read the container. */
function interferenceOver(
  { interference, points, trace }: Series,
  startMs: number,
  endMs: number,
): Interference {
  const inside = points.filter(({ atMs }) => atMs >= startMs && atMs < endMs);
  const components = INTERFERENCE_COMPONENTS.map((name): readonly [string, InterferenceComponent] => {
    const { supported, source, value: latest } = interference[name];
    const value =
      trace.mean(name, startMs, endMs) ??
      meanValue(inside.map(({ sample }) => sample.interference[name])) ??
      latest;
    return [
      name,
      { supported, ...(value !== undefined && { value }), ...(source !== undefined && { source }) },
    ];
  });
  return Object.fromEntries(components) as Interference;
}

function meanValue(samples: readonly InterferenceComponent[]): number | undefined {
  const values = samples.flatMap(({ value }) => (value === undefined ? [] : [value]));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}
