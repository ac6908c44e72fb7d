import { setTimeout as delay } from "node:timers/promises";

/** How long a new decision waits for the disk before it is served anyway. */
export const DISK_PATIENCE_MS = 500;

/** Waits for this work, but no longer than that; it then goes on by itself. */
export async function atMost(patienceMs: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController();
  try {
    await Promise.race([
      work,
      delay(patienceMs, undefined, { signal: timer.signal, ref: false }).catch(() => undefined),
    ]);
  } finally {
    timer.abort();
  }
}
