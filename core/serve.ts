import type { Running } from "./running.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Runs a process of Tradewind: one line of JSON on standard output once it is ready, then until SIGINT or SIGTERM, which
 * also count when they come while it starts; further ones change nothing, since what must be kept is being written.
 * @throws what `start` throws
 */
export async function serve(name: string, start: () => Promise<Running>): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    for (const signal of SIGNALS) process.on(signal, () => resolve());
  });
  const running = await start();
  const { addresses } = running;
  process.stdout.write(`${JSON.stringify({ process: name, ready: true, addresses })}\n`);
  await asked;
  await running.stop();
  process.exit(0);
}
