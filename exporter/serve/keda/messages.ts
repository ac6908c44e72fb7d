import type { ForwardSteps } from "@tradewind/core/process/clock.ts";
import type { ConnectionCounts } from "@tradewind/core/net/connection-limits.ts";
import type { LogLevel } from "@tradewind/core/process/log.ts";
import type { CallSeries } from "./call-counts.ts";
import type { TlsFiles, TlsObserver } from "@tradewind/core/net/reloading-tls.ts";
import type { GateCounts } from "./call-gate.ts";
import type { ScalerLimits } from "./server.ts";
import type { ServedApplication, ServedRow } from "../../keep/served-table.ts";
import type { Beats } from "./watchdog.ts";

/** What the scaler's thread is given when it is made; plain data, as everything here. */
export interface ScalerThreadOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly tls?: TlsFiles & { readonly refreshMs: number };
  readonly limits: ScalerLimits;
  readonly streamLifetimeMs: number;
  readonly logLevel: LogLevel;
  readonly forwardSteps: ForwardSteps;
  /** The threads watch each other over this memory, and end the process when one is silent for so long. ms */
  readonly watchdog?: { readonly beats: Beats; readonly limitMs: number };
}

/** News for the thread that it takes without a word. */
export type News =
  /** A part of the table that is to be put in force. */
  | { readonly kind: "rows"; readonly rows: readonly ServedRow[] }
  /** What keeps the predictor silent, if it is. */
  | { readonly kind: "predictor"; readonly problem: string | undefined }
  /** The applications there are, where it may be several. */
  | { readonly kind: "applications"; readonly applications: readonly ServedApplication[] };

/** What the thread answers to each question. */
export interface Answers {
  /** Reads the certificates. Fails with `tls-material`. */
  readonly open: undefined;
  /** Binds the port and gives `host:port`. Fails with `cannot-listen`. */
  readonly listen: string;
  /** Puts the rows sent since the last time in force, in the place of all before, and says on streams what changed. */
  readonly "put-in-force": undefined;
  /** Counts since the thread began; the delay of its event loop since the last report. */
  readonly report: ScalerReport;
  /** Only answers. */
  readonly ping: undefined;
  /** Ends streams and the port, with what is under way. */
  readonly stop: undefined;
}
export type Question = keyof Answers;

export interface ScalerReport {
  readonly calls: readonly CallSeries[];
  readonly openStreams: number;
  /** Absent before the port is bound. */
  readonly connections?: ConnectionCounts;
  readonly refused?: GateCounts;
  /** 99th percentile, s; absent when nothing was measured since the last report. */
  readonly loopDelaySeconds?: number;
}

export const NOTHING_YET: ScalerReport = { calls: [], openStreams: 0 };

/** An error as it crosses to the other thread. */
export interface CarriedError {
  readonly code: string;
  readonly message: string;
  /** The messages of the errors underneath. */
  readonly cause: string;
}

export type ToScaler = News | { readonly kind: "question"; readonly id: number; readonly question: Question };

export type FromScaler =
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answers[Question] }
  | { readonly kind: "refused"; readonly id: number; readonly error: CarriedError }
  | { readonly kind: "tls"; readonly reloaded: Parameters<TlsObserver["tlsReloaded"]> };
