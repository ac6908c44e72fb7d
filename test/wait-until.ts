import { setTimeout as delay } from "node:timers/promises";

/** Waits for a condition, looking often; fails by name when it does not come true in time. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
  what = condition.toString(),
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await delay(20);
  }
}
