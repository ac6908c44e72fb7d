import type { Application } from "@tradewind/core/contract/application.ts";
import type { Workload, WorkloadList } from "@tradewind/core/contract/workload.ts";

/** What the platform is asked for of a workload, and between which numbers that can be changed. */
export type Scaling = Pick<
  Workload,
  "maxReplicas" | "minReplicas" | "namespace" | "replicasWanted" | "scalingPaused" | "service"
>;

/** Tells what runs: a file, or a cluster. */
export interface WorkloadSource {
  /** The newest list; undefined while it is not known, or what was known is too old to be believed. */
  current(): WorkloadList | undefined;
  /** How its workloads are scaled now: asked for every second, so it costs little. Undefined as the list is. */
  scalings(): readonly Scaling[] | undefined;
  /** What it does not have of the workloads that an application names, in words; absent where it does not judge that. */
  lacks?(application: Pick<Application, "namespace" | "services">): string | undefined;
  stop(): Promise<void> | void;
}
