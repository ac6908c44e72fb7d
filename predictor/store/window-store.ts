import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import type { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";

/** Where a window came from. A live window is never replaced by one read back from a server's history. */
export type WindowOrigin = "live" | "backfill";

/** Which windows to read; times in ms since the epoch, `fromMs` included, `toMs` excluded (by the window's start). */
export interface WindowQuery {
  readonly fromMs: number;
  readonly toMs: number;
  readonly service?: string | undefined;
  readonly namespace?: string | undefined;
  /** Only windows of this length; without it the finest that each time still has. */
  readonly resolutionSeconds?: number | undefined;
}

/** Which proposed changes to read. */
export interface DecisionQuery {
  /** At most so many, the newest. */
  readonly most: number;
  readonly service?: string | undefined;
  /** Decided at or after this time, ms since the epoch, and before the other; absent: at any time. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface StoredFlow extends FlowWindow {
  readonly startMs: number;
  readonly endMs: number;
}

/** Part of a backfill that is done, ms since the epoch. */
export interface DoneChunk {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * `disk` writes as it should; `disk-full` and `failing` hold new rows in memory and try again; `memory` has no file at
 * all and forgets everything at the end of the process.
 */
export type StoreState = "disk" | "disk-full" | "failing" | "memory";

export interface StoreHealth {
  readonly state: StoreState;
  readonly path: string | undefined;
  /** What is wrong, in plain words, and what to do; undefined when nothing is. */
  readonly problem: string | undefined;
  readonly remedy: string | undefined;
  readonly bytes: number;
  /** Beyond it the oldest go. */
  readonly maxBytes: number;
  readonly pendingWindows: number;
  readonly writtenWindowsTotal: number;
  /** Windows given up because memory for those that could not be written was full. */
  readonly lostWindowsTotal: number;
  readonly writeErrorsTotal: number;
  /** Rows that did not match their checksum or schema when read. */
  readonly unreadableRowsTotal: number;
  /** Times a damaged file was set aside. */
  readonly damagedFilesTotal: number;
  /** Times the open file was deleted or replaced. */
  readonly fileLossesTotal: number;
}

/** The memory of the predictor. Writing never throws and never waits for the disk. */
export interface WindowStore {
  append(set: WindowSet, origin?: WindowOrigin): void;
  appendDecision(record: ProposedChange): void;
  markDone(job: string, chunk: DoneChunk): void;

  /** Windows by rising start. Each time comes in one resolution only. */
  windows(query: WindowQuery): Iterable<Window>;
  flows(query: Pick<WindowQuery, "fromMs" | "toMs">): Iterable<StoredFlow>;
  /** Newest first. */
  decisions(query: DecisionQuery): Iterable<ProposedChange>;
  doneChunks(job: string): DoneChunk[];
  /** Stretches of `stepMs` in which there are windows measured live. */
  liveStretches(fromMs: number, toMs: number, stepMs: number): DoneChunk[];

  /** Sums up what has grown old and removes what is past its time. Does a bounded piece of work per call. */
  maintain(nowMs: number): Promise<void>;
  /** Writes everything that waits. */
  flush(): Promise<void>;
  health(): StoreHealth;
  close(): Promise<void>;
}
