import { setImmediate as nextTurn } from "node:timers/promises";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { WindowStore } from "../store/window-store.ts";

export interface StoredQuery {
  readonly store: Pick<WindowStore, "windows">;
  readonly namespace: string;
  readonly service: string;
  readonly windowSeconds: number;
  /** Windows that begin at or after `fromMs` and before `toMs`. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Windows read at a time: reading keeps everybody waiting, so it is done in small pieces. */
const PIECE_WINDOWS = 400;
/** Longest piece, in lengths of a window: an empty stretch shall not make the next piece huge. */
const LONGEST_PIECE = 100;

/** All windows that begin at or after `fromMs` and before `toMs`. */
export interface StoredPiece {
  readonly windows: readonly Window[];
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Windows as measured, newest piece first and oldest first within a piece; between two pieces everybody else gets the event
 * loop. The reader ends it whenever it has enough.
 */
export async function* storedWindows(query: StoredQuery): AsyncGenerator<StoredPiece> {
  const { store, windowSeconds, fromMs } = query;
  const windowMs = windowSeconds * 1e3;
  let pieceMs = windowMs;
  for (let toMs = query.toMs; toMs > fromMs;) {
    const pieceFromMs = Math.max(fromMs, toMs - pieceMs);
    const found = store.windows({
      namespace: query.namespace,
      service: query.service,
      resolutionSeconds: Math.max(1, Math.round(windowSeconds)),
      fromMs: pieceFromMs,
      toMs,
    });
    const windows = [...found];
    yield { windows, fromMs: pieceFromMs, toMs };
    await nextTurn();
    toMs -= pieceMs;
    const lengths = Math.floor((PIECE_WINDOWS * pieceMs) / windowMs / Math.max(1, windows.length));
    pieceMs = windowMs * Math.max(1, Math.min(lengths, LONGEST_PIECE, (2 * pieceMs) / windowMs));
  }
}
