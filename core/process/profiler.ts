import { setTimeout as sleep } from "node:timers/promises";
import { TradewindError } from "../values/errors.ts";

/** What a profile is of: time on the CPU, or what was allocated meanwhile and is still held. */
export const PROFILES = ["cpu", "heap"] as const;
export type ProfileKind = (typeof PROFILES)[number];

const MOST_SECONDS = 60;
const DEFAULT_SECONDS = 10;

/** Seconds as asked for. @throws TradewindError `invalid-query` */
export function profileSeconds(text: unknown): number {
  const seconds = text === undefined ? DEFAULT_SECONDS : Number(text);
  if (seconds >= 1 && seconds <= MOST_SECONDS) return seconds;
  throw new TradewindError("invalid-query", `seconds is a number from 1 to ${MOST_SECONDS}`);
}

/**
 * Samples this thread for a time, by the inspector of Node.js: names and places of functions, and no data. One profile at a time.
 * What it answers is a file for Chrome's or VS Code's viewer of `.cpuprofile` and `.heapprofile`.
 */
export class Profiler {
  #isBusy = false;

  /** @throws TradewindError `busy` */
  async take(kind: ProfileKind, seconds: number): Promise<object> {
    if (this.#isBusy)
      throw new TradewindError("busy", "a profile is being taken already; ask again after it");
    this.#isBusy = true;
    try {
      const { Session } = await import("node:inspector/promises");
      const session = new Session();
      session.connect();
      try {
        if (kind === "heap") {
          await session.post("HeapProfiler.startSampling");
          await sleep(1e3 * seconds);
          return (await session.post("HeapProfiler.stopSampling")).profile;
        }
        await session.post("Profiler.enable");
        await session.post("Profiler.start");
        await sleep(1e3 * seconds);
        return (await session.post("Profiler.stop")).profile;
      } finally {
        session.disconnect();
      }
    } finally {
      this.#isBusy = false;
    }
  }
}
