import type { PhaseName } from "../phases/phases.ts";

/** Everything the screen shows, as values. */
export interface Picture {
  readonly application: string;
  readonly policy: string;
  readonly phase: PhaseName;
  readonly elapsedS: number;
  /** Absent when the run goes on until it is stopped. */
  readonly durationS?: number;
  readonly objectiveSeconds: number;
  /** Of the last seconds, at the load generator. */
  readonly requestsPerSecond: number;
  readonly p95Seconds: number | undefined;
  readonly failed: number;
  readonly services: readonly PicturedService[];
  /** Who disturbs the application now, for example `stress-ng`. */
  readonly interference?: string;
  readonly quota: string;
  /** Name and address of what can be looked at with a browser or curl. */
  readonly addresses: readonly (readonly [name: string, address: string])[];
  readonly troubles: readonly string[];
}

export interface PicturedService {
  readonly name: string;
  readonly requestsPerSecond: number | undefined;
  readonly p95Seconds: number | undefined;
  readonly replicasReady: number;
  readonly replicasWanted: number;
  /** CPU limit of each replica, cores; the second is what is recommended. */
  readonly cpuCores: number;
  readonly cpuCoresWanted: number;
  readonly reason: string;
}
