import type { Hierarchies } from "../../cgroup/hierarchies.ts";
import type { SampleTime } from "../../sampling/sample-time.ts";
import type { Reader } from "../../read/reader.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import { COLUMN } from "../columns.ts";
import type { ContainerColumn } from "../columns.ts";
import type { ContainerRates } from "../rates.ts";
import type { ThrottlingCounts } from "./throttling.ts";

export type ProbeName =
  | "cpu"
  | "cpuPressure"
  | "io"
  | "ioPressure"
  | "limits"
  | "memory"
  | "memoryPressure"
  | "network"
  | "process";

/** A few files of one container that are read together and judged by one value. */
export interface Probe {
  readonly name: ProbeName;
  readonly schedule: SignalOptions;
  /** What it writes of the container's values. */
  readonly fills: readonly ContainerColumn[];
  /** Movement that does not matter, where that depends on what was read: then in the place of the schedule's. */
  readonly tolerance?: number;
  /**
   * Reads the files into the container's values.
   * @returns the value the sampling controller judges: a cumulative total or a level
   * @throws AbsentSource, a system error or `malformed-file`
   */
  read(time: SampleTime): number;
  /** Clears what it wrote beside the columns that it {@link fills}, since what it read last is no longer true. */
  forget?(): void;
  close(): void;
}

/** The pod around a container, by its own cgroup. */
export interface EnclosingPod {
  /** Undefined where it has no quota. */
  throttling(time: SampleTime): ThrottlingCounts | undefined;
  /** NaN where it has none. */
  limits(time: SampleTime): { readonly cpuCores: number; readonly memoryBytes: number };
}

/** What a probe writes to. */
export interface ProbeTarget {
  /** By {@link COLUMN}, NaN where nothing was read. */
  readonly values: Float64Array;
  readonly rates: ContainerRates;
  readonly pod?: EnclosingPod | undefined;
}

/** Where a container's cgroup is. */
export interface CgroupPlace {
  readonly reader: Reader;
  readonly hierarchies: Hierarchies;
  /** Path in every tree, starting with `/`. */
  readonly path: string;
  /** A second cgroup whose CPU and memory count as well: Kata's, for the part of a sandbox outside its pod. */
  readonly besidePath?: string | undefined;
}

/** Writes a column; an absent value is NaN inside. */
export function put({ values }: ProbeTarget, column: ContainerColumn, value: number | undefined): void {
  values[COLUMN[column]] = value ?? Number.NaN;
}
