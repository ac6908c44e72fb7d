import type { WorkloadList } from "@tradewind/core/contract/workload.ts";

/** Tells what runs: a file, or a cluster. */
export interface WorkloadSource {
  /** The newest list; undefined while it is not known, or what was known is too old to be believed. */
  current(): WorkloadList | undefined;
  stop(): Promise<void> | void;
}
