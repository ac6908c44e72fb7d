import { setTimeout as delay } from "node:timers/promises";
import { readWith } from "@tradewind/core/values/config.ts";
import type { ServiceState } from "../application/fleet.ts";
import { createCpuRecord } from "./cpu-record.ts";
import type { CpuRecord } from "./cpu-record.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";

const POLL_MILLIS = 400;
const TIMEOUT_MILLIS = 2_000;
/** Sets of windows that are kept; far more than one configuration has. */
const MOST_KEPT = 1_000;

/** Reads every window that the predictor forms, and what CPU the replicas say they used. */
export interface WindowCollector {
  /** Sets since the start, oldest first, once the one that ends at `endMs` or a later one has come. */
  until(endMs: number, timeoutMillis: number): Promise<readonly WindowSet[]>;
  readonly cpu: CpuRecord;
  stop(): Promise<void>;
}

export function collectWindows(predictor: string, states: () => readonly ServiceState[]): WindowCollector {
  const sets: WindowSet[] = [];
  const cpu = createCpuRecord();
  const over = new AbortController();
  const look = async (): Promise<void> => {
    const response = await fetch(`${predictor}/v1/windows`, { signal: AbortSignal.timeout(TIMEOUT_MILLIS) });
    if (!response.ok) return;
    const set = readWith(WindowSet, await response.json(), "the windows of the predictor");
    if (set.endMs === sets.at(-1)?.endMs) return;
    sets.push(set);
    if (sets.length > MOST_KEPT) sets.shift();
  };
  const running = (async () => {
    while (!over.signal.aborted) {
      // Who does not answer is asked again.
      cpu.note(states());
      await look().catch(() => undefined);
      await delay(POLL_MILLIS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  return {
    cpu,
    async until(endMs, timeoutMillis) {
      const deadlineMs = performance.now() + timeoutMillis;
      while ((sets.at(-1)?.endMs ?? 0) < endMs && performance.now() < deadlineMs && !over.signal.aborted)
        await delay(POLL_MILLIS / 4);
      return [...sets];
    },
    async stop() {
      over.abort();
      await running;
    },
  };
}
