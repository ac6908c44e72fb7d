import type { StageKind } from "../stage/setting.ts";
import type { Stage } from "../stage/stage.ts";

/** Something that goes wrong, and what users may expect meanwhile. */
export interface Fault {
  readonly name: string;
  /** One line: what is done to what. */
  readonly summary: string;
  /** Default `plain`. */
  readonly stage?: StageKind;
  /** Takes part in a quick run. */
  readonly quick?: boolean;
  /** How long it lasts once `begin` is done. */
  readonly seconds: number;
  /**
   * Users wait for 2.5 times the objective from the beginning of the fault: one more replica, of whatever service, must be
   * served within so many seconds.
   */
  readonly growsWithin?: number;
  /** Numbers down to this share of what is needed are no break of a promise; default 1. */
  readonly leastShare?: number;
  /** Only the numbers of these services are judged, where others may rightly fall. */
  readonly judged?: readonly string[];
  /** What the fault itself brings about. */
  readonly allows?: {
    readonly unavailableSeconds?: number;
    readonly storedLost?: boolean;
    readonly livenessFailures?: boolean;
  };
  /** No process may end, since nobody ends one. */
  readonly survives?: boolean;
  /** Exports of honest clients must be taken all the while. */
  readonly takesExports?: boolean;
  begin(stage: Stage): Promise<void>;
  /** Makes good what `begin` did. */
  end(stage: Stage): Promise<void>;
}

/** What came of one fault. */
export interface FaultRow {
  readonly name: string;
  /** Answers to KEDA that are 0, no number, out of bounds, or below what is needed and was in force. */
  readonly wrongNumbers: number;
  /** Times that the number of a service fell below what is needed. */
  readonly scaleDowns: number;
  /** Decisions and windows that were on disk before and are not after. */
  readonly storedLost: number;
  /** Time in which neither exporter had a number for some service. */
  readonly unavailableSeconds: number;
  /** From the end of the fault until all is as before; null when that took too long. */
  readonly recoveredSeconds: number | null;
  /** Most memory of any one process. */
  readonly rssBytesMax: number;
  /** Of answered calls; null when none was. */
  readonly getMetricsP99Ms: number | null;
  /** Failures of an exporter's liveness in a row; a kubelet ends it at 4. */
  readonly livenessFailures: number;
  /** Share of exports that the receiver asked first did not take. */
  readonly exportsRefused: number;
  /** What was not as it should be; empty when all was. */
  readonly broken: readonly string[];
}

/** A fault that could not be made here. */
export interface SkippedRow {
  readonly name: string;
  readonly skipped: string;
}
