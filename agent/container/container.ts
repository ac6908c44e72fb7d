import type { Interference } from "@tradewind/core/contract/interference.ts";
import type { FoundContainer } from "../cgroup/discovery.ts";
import type { SampleTime } from "../sampling/sample-time.ts";
import type { ContainerNames } from "./names.ts";
import type { Pod } from "./pod.ts";
import type { ContainerRates } from "./rates.ts";

/** One container being sampled. */
export interface Container {
  readonly id: string;
  /** Its cgroup; undefined for a bare process. */
  readonly found: FoundContainer | undefined;
  /** Its process, where a workload source names a bare one. */
  readonly pid: number | undefined;
  names: ContainerNames;
  /** By `COLUMN` (columns.ts), NaN where nothing was read. */
  readonly values: Float64Array;
  readonly rates: ContainerRates;
  /** Undefined for a bare process, and without a pod's cgroup. */
  readonly pod: Pod | undefined;
  /** When its CPU use was read last. */
  lastRead: SampleTime | undefined;
  /** Something was read since its interference was worked out. */
  changed: boolean;
  interference: Interference | undefined;
  /** Monotonic time at which it was worked out. */
  evaluatedSeconds: number | undefined;
}
