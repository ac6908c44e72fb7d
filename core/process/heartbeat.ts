import { BEAT_MS } from "./silence.ts";

/** One beat: the process expects to beat again within this time. */
export interface Beat {
  readonly beatWithinMs: number;
}

/**
 * Shows the process that started this one, over the channel between them, that the event loop turns. Without a channel nobody
 * is shown anything.
 * @param beatWithinMs when to take this process for hanging. ms
 * @returns what ends it
 */
export function startHeartbeat(beatWithinMs: number): () => void {
  // A supervisor that is stopped reads nothing: no second beat is queued behind one that has not gone.
  let isUnderWay = false;
  const beat = (): void => {
    if (isUnderWay || !process.connected) return;
    isUnderWay = true;
    process.send?.({ beatWithinMs } satisfies Beat, undefined, {}, () => {
      isUnderWay = false;
    });
  };
  beat();
  const timer = setInterval(beat, BEAT_MS).unref();
  return () => clearInterval(timer);
}

/** @returns undefined for any other message */
export function beatIn(message: unknown): Beat | undefined {
  const { beatWithinMs } = (message ?? {}) as Partial<Beat>;
  return typeof beatWithinMs === "number" && beatWithinMs > 0 ? { beatWithinMs } : undefined;
}
