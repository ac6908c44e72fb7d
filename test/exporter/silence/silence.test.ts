import { describe, expect, it } from "vitest";
import { silenceLimitMs } from "@tradewind/exporter/silence/silence.ts";

const NOW_MS = 1_000_000;

describe("when an application counts as silent", () => {
  it.each([
    { windowSeconds: 5, seconds: 30 },
    { windowSeconds: 15, seconds: 37.5 },
    { windowSeconds: 60, seconds: 150 },
  ])("waits $seconds s for the next plan of one that answers, at windows of $windowSeconds s", (each) => {
    const { seconds, windowSeconds } = each;
    for (const answeredMs of [NOW_MS, NOW_MS - 9_000]) {
      expect(silenceLimitMs({ windowSeconds, answeredMs }, NOW_MS)).toBe(NOW_MS - 1e3 * seconds);
    }
  });

  it("does not wait for the next plan where nobody has answered for more than ten seconds", () => {
    const gone = { windowSeconds: 60, answeredMs: NOW_MS - 10_001 };
    expect(silenceLimitMs(gone, NOW_MS)).toBe(NOW_MS - 10_000);
  });

  it("waits for the first answer after a start as for a plan", () => {
    const started = { windowSeconds: 15, answeredMs: undefined };
    expect(silenceLimitMs(started, NOW_MS)).toBe(NOW_MS - 37_500);
  });
});
