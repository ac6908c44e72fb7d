import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withinTime } from "@tradewind/core/process/within-time.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work that only its signal ends. */
const endless = async (signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("ended")));
    if (signal.aborted) reject(new Error("ended"));
  });

describe("work within a time", () => {
  it("leaves no timer and no listener behind, whether it succeeds or fails", async () => {
    const { signal } = new AbortController();
    expect(await withinTime(1_000, signal, async () => Promise.resolve(7))).toBe(7);
    await expect(withinTime(1_000, signal, async () => Promise.reject(new Error("no")))).rejects.toThrow(
      "no",
    );
    expect([vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([0, 0]);
  });

  it("ends with its time, and knows it", async () => {
    let deadline: AbortSignal | undefined;
    const work = withinTime(1_000, undefined, async (signal, late) => {
      deadline = late;
      return endless(signal);
    });
    await Promise.all([expect(work).rejects.toThrow("ended"), vi.advanceTimersByTimeAsync(1_000)]);
    expect(deadline?.aborted).toBe(true);
  });

  it("ends with the other signal, which is not its time", async () => {
    const other = new AbortController();
    let deadline: AbortSignal | undefined;
    const work = withinTime(1_000, other.signal, async (signal, late) => {
      deadline = late;
      return endless(signal);
    });
    other.abort();
    await expect(work).rejects.toThrow("ended");
    expect(deadline?.aborted).toBe(false);
    expect([vi.getTimerCount(), getEventListeners(other.signal, "abort").length]).toEqual([0, 0]);
  });

  it("ends at once where the other signal is aborted already", async () => {
    await expect(withinTime(1_000, AbortSignal.abort(), endless)).rejects.toThrow("ended");
  });
});
