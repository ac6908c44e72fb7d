import type { Grid } from "../prometheus/grid.ts";
import { lengthMs, without } from "./intervals.ts";
import type { Stretch } from "./intervals.ts";

/** History older than `ageMs` is read in steps of `stepMs`. */
export interface BackfillTier {
  readonly ageMs: number;
  readonly stepMs: number;
}

const DAY_MS = 86_400_000;
const FIVE_MINUTES_MS = 300_000;

/** Steps as fine as the store keeps them: a minute while windows are kept as measured, five minutes beyond. */
export function backfillTiers(windowSeconds: number, rawDays: number): readonly BackfillTier[] {
  const fine = Math.max(60_000, windowSeconds * 1_000);
  return [
    { ageMs: 0, stepMs: FIVE_MINUTES_MS % fine === 0 ? fine : FIVE_MINUTES_MS },
    { ageMs: rawDays * DAY_MS, stepMs: FIVE_MINUTES_MS },
  ];
}

/** One question: consecutive windows of one step. */
export interface Chunk extends Stretch {
  readonly stepMs: number;
}

/**
 * What of the history is still to be read, handed out chunk by chunk, the newest first: that is what forecasts and
 * profiles need most. A chunk that failed is given back.
 */
export class BackfillPlan {
  private readonly open: Chunk[];
  private readonly wholeMs: number;
  private takenMs = 0;

  /**
   * @param nowMs end of the history, rounded down to five minutes
   * @param known stretches that need not be read: done before, or measured live
   */
  constructor(nowMs: number, days: number, tiers: readonly BackfillTier[], known: readonly Stretch[]) {
    const until = Math.floor(nowMs / FIVE_MINUTES_MS) * FIVE_MINUTES_MS;
    const bounds = [...tiers].sort((a, b) => a.ageMs - b.ageMs);
    const edge = (ageMs: number): number =>
      Math.floor((until - Math.min(ageMs, days * DAY_MS)) / FIVE_MINUTES_MS) * FIVE_MINUTES_MS;
    this.open = bounds
      .flatMap(({ ageMs, stepMs }, index) => {
        const older = bounds[index + 1]?.ageMs ?? Number.POSITIVE_INFINITY;
        const stretch = { startMs: edge(older), endMs: edge(ageMs) };
        return without([stretch], known).map((part) => ({
          startMs: part.startMs,
          endMs: part.endMs,
          stepMs,
        }));
      })
      .filter(({ startMs, endMs, stepMs }) => endMs - startMs >= stepMs)
      .sort((a, b) => a.endMs - b.endMs);
    this.wholeMs = lengthMs(this.open);
  }

  /** The newest open chunk of at most `windows` windows; undefined when all is taken. */
  take(windows: number): Chunk | undefined {
    const newest = this.open.pop();
    if (newest === undefined) return undefined;
    const { startMs, endMs, stepMs } = newest;
    const from = Math.max(startMs, endMs - Math.max(1, Math.floor(windows)) * stepMs);
    if (from > startMs) this.open.push({ startMs, endMs: from, stepMs });
    this.takenMs += endMs - from;
    return { startMs: from, endMs, stepMs };
  }

  giveBack(chunk: Chunk): void {
    this.takenMs -= chunk.endMs - chunk.startMs;
    this.open.push(chunk);
  }

  get totalMs(): number {
    return this.wholeMs;
  }

  get leftMs(): number {
    return this.wholeMs - this.takenMs;
  }
}

/** The windows of a chunk. */
export function gridOf({ startMs, endMs, stepMs }: Chunk): Grid {
  return { firstEndMs: startMs + stepMs, stepMs, count: Math.floor((endMs - startMs) / stepMs) };
}
