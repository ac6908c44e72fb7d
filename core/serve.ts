import type { Running } from "./running.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Runs a process of Tradewind: one line of JSON on standard output once it is ready, then until SIGINT or SIGTERM, which
 * also count when they come while it starts. A second signal ends it without waiting for what it still has to keep.
 * @throws what `start` throws
 */
export async function serve(name: string, start: () => Promise<Running>): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve());
  });
  const running = await start();
  const { addresses } = running;
  process.stdout.write(`${JSON.stringify({ process: name, ready: true, addresses })}\n`);
  await asked;
  for (const signal of SIGNALS) process.once(signal, () => process.exit(1));
  await running.stop();
  process.exit(0);
}
