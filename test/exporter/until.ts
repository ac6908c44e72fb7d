import { setTimeout as delay } from "node:timers/promises";

/** Asks again until the answer is neither undefined nor false, or fails naming what it waited for. */
export async function until<T>(
  what: string,
  ask: () => Promise<T> | T,
  deadlineMs = 20_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + deadlineMs;
  let last: unknown;
  while (performance.now() < end) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    await delay(20);
  }
  throw new Error(`waited ${deadlineMs} ms in vain for ${what}`, { cause: last });
}
