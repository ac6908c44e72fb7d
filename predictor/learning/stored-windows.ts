import { setImmediate as nextTurn } from "node:timers/promises";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { WindowStore } from "../store/window-store.ts";

export interface StoredQuery {
  readonly store: Pick<WindowStore, "windows">;
  readonly namespace: string;
  /** One service; all when absent. */
  readonly service?: string;
  readonly windowSeconds: number;
  /** Windows that begin at or after `fromMs` and before `toMs`. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Windows read at a time: reading keeps everybody waiting, so it is done in small pieces. */
const PIECE_WINDOWS = 400;
/** Longest piece, in lengths of a window: an empty stretch shall not make the next piece huge. */
const LONGEST_PIECE = 100;

/**
 * Windows as measured, newest piece first and oldest first within a piece; between two pieces everybody else gets the event
 * loop. The reader ends it whenever it has enough.
 */
export async function* storedWindows(query: StoredQuery): AsyncGenerator<readonly Window[]> {
  const { store, windowSeconds, fromMs } = query;
  const windowMs = windowSeconds * 1e3;
  let pieceMs = windowMs;
  for (let toMs = query.toMs; toMs > fromMs;) {
    const windows = store.windows({
      namespace: query.namespace,
      service: query.service,
      resolutionSeconds: Math.max(1, Math.round(windowSeconds)),
      fromMs: Math.max(fromMs, toMs - pieceMs),
      toMs,
    });
    const piece = [...windows];
    yield piece;
    await nextTurn();
    toMs -= pieceMs;
    const lengths = Math.floor((PIECE_WINDOWS * pieceMs) / windowMs / Math.max(1, piece.length));
    pieceMs = windowMs * Math.max(1, Math.min(lengths, LONGEST_PIECE, (2 * pieceMs) / windowMs));
  }
}

/** Rows a training is given at most: a network of this size has learnt all it can from them. */
const MOST_ROWS = 3_000;
/** Containers of all these windows together: a window of a large service is thousands of them. */
const MOST_CONTAINERS = 200_000;

/** The newest windows of one service, as many as a training should have. */
export async function windowsToTrainOn(query: StoredQuery): Promise<Window[]> {
  const pieces: (readonly Window[])[] = [];
  let rows = 0;
  let containers = 0;
  for await (const piece of storedWindows(query)) {
    pieces.push(piece);
    rows += piece.length;
    containers += piece.reduce((sum, window) => sum + window.containers.length, 0);
    if (rows >= MOST_ROWS || containers >= MOST_CONTAINERS) break;
  }
  return pieces.reverse().flat();
}
