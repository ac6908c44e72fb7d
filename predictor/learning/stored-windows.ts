import { setImmediate as nextTurn } from "node:timers/promises";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
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
/** Lengths are stored in whole seconds. */
const SAME_LENGTH_MS = 500;
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

/**
 * The window sets of a piece that have flows, newest first. Flows that were summed up tell no calls any more and are left
 * out, as are windows of another length.
 */
export function setsOf(
  store: Pick<WindowStore, "flows">,
  { windows, fromMs, toMs }: StoredPiece,
  windowSeconds: number,
): WindowSet[] {
  const windowMs = windowSeconds * 1e3;
  const sets = new Map<number, WindowSet>();
  for (const { startMs, endMs, ...flow } of store.flows({ fromMs, toMs })) {
    if (Math.abs(endMs - startMs - windowMs) > SAME_LENGTH_MS) continue;
    const set = sets.get(startMs) ?? { startMs, endMs, windows: [], flows: [] };
    set.flows.push(flow);
    sets.set(startMs, set);
  }
  for (const window of windows) sets.get(window.startMs)?.windows.push(window);
  return [...sets.values()].sort((a, b) => b.startMs - a.startMs);
}
