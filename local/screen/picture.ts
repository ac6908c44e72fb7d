import type { PhaseName } from "../load/phases.ts";

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
  /** What is going on and is no trouble, for example that the first window is being collected. */
  readonly notes: readonly string[];
  /** The answer to what a person asked with a key; empty while nothing is. */
  readonly answer: readonly string[];
  readonly totals: PicturedTotals;
  readonly trend: Trend;
  /** Keys are read. */
  readonly isInteractive: boolean;
  readonly showsHelp: boolean;
}

/** What a run has come to so far, and what runs now. */
export interface PicturedTotals {
  readonly requests: number;
  readonly over: number;
  readonly failed: number;
  readonly replicas: number;
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly costPerHour: number;
  readonly starts: number;
  readonly stops: number;
}

/** p95 of a run step by step. */
export interface Trend {
  /** Steps of the whole run. */
  readonly steps: number;
  /** Of the steps that are over; undefined without requests. */
  readonly p95Seconds: readonly (number | undefined)[];
  readonly phases: readonly PicturedPhase[];
  /** The run that this one is compared with. */
  readonly rival?: Rival;
}

export interface PicturedPhase {
  readonly name: PhaseName;
  /** Shares of the run, 0 to 1. */
  readonly fromShare: number;
  readonly toShare: number;
}

export interface Rival {
  readonly name: string;
  /** Read from a file, not run just now. */
  readonly isRecorded: boolean;
  readonly p95Seconds: readonly (number | undefined)[];
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
