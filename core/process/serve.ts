import { setTimeout as delay } from "node:timers/promises";
import type { Running } from "./running.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** A start that lasts longer after a signal is given up: it may wait for what never comes. */
const LATE_START_MS = 2_000;

/**
 * Runs a process of Tradewind: one line of JSON on standard output once it is ready, then until SIGINT or SIGTERM, which
 * also count when they come while it starts; further ones change nothing, since what must be kept is being written.
 * @throws what `start` throws
 */
export async function serve(name: string, start: () => Promise<Running>): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    for (const signal of SIGNALS) process.on(signal, () => resolve());
  });
  const tooLate = asked.then(async () => delay(LATE_START_MS, undefined));
  const running = await Promise.race([start(), tooLate]);
  if (running === undefined) process.exit(0);
  const { addresses } = running;
  process.stdout.write(`${JSON.stringify({ process: name, ready: true, addresses })}\n`);
  await asked;
  await running.stop();
  process.exit(0);
}
