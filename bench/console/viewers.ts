import { setTimeout as delay } from "node:timers/promises";

/** What a page reads whenever the stream tells it that something changed. */
const READS = ["v1/recommendations", "v1/measured", "v1/course?since=0", "v1/events?most=500", "readyz"];

/** People who look, without their browsers: these would take the CPU of this machine and not the scaler's. */
export function openViewers(url: string, count: number): { close: () => Promise<void> } {
  const leaving = new AbortController();
  const all = Array.from({ length: count }, async () => view(url, leaving.signal));
  return {
    close: async () => {
      leaving.abort();
      await Promise.all(all);
    },
  };
}

async function view(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const stream = await fetch(`${url}/v1/stream`, { signal });
      for await (const part of stream.body ?? []) {
        if (!Buffer.from(part).toString().includes("event: header")) continue;
        await Promise.all(
          READS.map(async (path) => (await fetch(`${url}/${path}`, { signal })).arrayBuffer()),
        );
      }
    } catch {
      await delay(signal.aborted ? 0 : 500);
    }
  }
}
