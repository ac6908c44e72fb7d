import type { Allocation } from "../contract/plan.ts";
import { demandCores } from "./reading.ts";
import type { ServiceReading } from "./reading.ts";

/** What the last plan said of a service. */
export interface PlannedService {
  readonly allocation: Allocation;
  /** End of its window, on our monotonic clock. ms */
  readonly atMs: number;
  /** CPU that requests took in that window; undefined where it was not measured. */
  readonly usedCores: number | undefined;
  /** Of each container. */
  readonly cpuCores: number | undefined;
  readonly memoryBytes: number | undefined;
}

/** The five numbers that a student decides by, each within [0, 4]. */
export interface StudentInputs {
  /** CPU demand over the CPU of the replicas decided on, those that start included. */
  readonly cpuRatio: number;
  /** Memory in use over the memory of a container. */
  readonly memoryRatio: number;
  /** Replicas of the last plan over those decided on since: 1 where nothing was added. */
  readonly replicaRatio: number;
  /** Load now over the load of the last plan; by the CPU that it takes, for the scaler sees no requests. */
  readonly loadRatio: number;
  /** The same when pods that are asked for now will serve: a line through the last readings. */
  readonly forecastRatio: number;
}

const MOST = 4;
/** How far ahead the load is looked at: a pod's start and KEDA's and the HPA's rounds. s */
export const AHEAD_SECONDS = 75;
/** How long the load is looked back on for its trend. ms */
export const TREND_MS = 60_000;

/** A load of the past, in terms of the last plan's. */
export interface LoadPoint {
  readonly atMs: number;
  readonly ratio: number;
}

/** CPU of one container: its limit as read, else as the plan knew it. */
export const podCores = (reading: ServiceReading, planned: PlannedService): number | undefined =>
  positive(reading.cpuLimitCores) ?? positive(planned.cpuCores);

/** Load now over the load of the last plan; undefined where one of them is not known. */
export function loadRatio(reading: ServiceReading, planned: PlannedService): number | undefined {
  const cores = podCores(reading, planned);
  const before = positive(planned.usedCores);
  return cores === undefined || before === undefined ? undefined : demandCores(reading, cores) / before;
}

/** @param earlier of this silence, the plan's own (ratio 1) among them
 * @returns undefined where one of the five is not known: nothing is put in its place */
export function studentInputs(
  reading: ServiceReading,
  planned: PlannedService,
  decidedReplicas: number,
  earlier: readonly LoadPoint[],
): StudentInputs | undefined {
  const cores = podCores(reading, planned);
  const load = loadRatio(reading, planned);
  const memoryLimit = positive(reading.memoryLimitBytes) ?? positive(planned.memoryBytes);
  const { memoryBytes } = reading;
  if (cores === undefined || load === undefined || memoryLimit === undefined || memoryBytes === undefined) {
    return undefined;
  }
  const inputs = {
    cpuRatio: demandCores(reading, cores) / (Math.max(1, decidedReplicas) * cores),
    memoryRatio: memoryBytes / memoryLimit,
    replicaRatio: planned.allocation.replicas / Math.max(1, decidedReplicas),
    loadRatio: load,
    forecastRatio: ahead(load, reading.atMs, earlier),
  };
  const values = Object.values(inputs);
  if (!values.every((value) => Number.isFinite(value))) return undefined;
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, Math.min(MOST, Math.max(0, value))]),
  ) as unknown as StudentInputs;
}

/** In the order in which students take them. */
export const asList = (inputs: StudentInputs): readonly number[] => [
  inputs.cpuRatio,
  inputs.memoryRatio,
  inputs.replicaRatio,
  inputs.loadRatio,
  inputs.forecastRatio,
];

/** A line from the earliest load that is still looked at to the load now; never less than now. */
function ahead(now: number, atMs: number, earlier: readonly LoadPoint[]): number {
  const [first] = earlier;
  const seconds = first === undefined ? 0 : (atMs - first.atMs) / 1e3;
  if (first === undefined || seconds <= 0) return now;
  return now + (Math.max(0, now - first.ratio) / seconds) * AHEAD_SECONDS;
}

const positive = (value: number | undefined): number | undefined =>
  value !== undefined && Number.isFinite(value) && value > 0 ? value : undefined;
