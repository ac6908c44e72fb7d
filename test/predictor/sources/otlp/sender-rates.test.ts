import { describe, expect, it } from "vitest";
import { SenderRates } from "../../../../predictor/sources/otlp/sender-rates.ts";

const LIMITS = { maxSenderBytesPerSecond: 1_000, maxSenderSpansPerSecond: 10, senderBurstSeconds: 4 };

describe("rates of a sender", () => {
  it("4 s worth may come at once, then a sender waits until it is within its burst again", () => {
    const rates = new SenderRates(LIMITS);
    expect(rates.waitSeconds("a", 0)).toBeUndefined();
    rates.charge("a", 0, 39, 0);
    expect(rates.waitSeconds("a", 0)).toBeUndefined();
    rates.charge("a", 0, 50, 0);
    // 89 spans are 8.9 s, of which 4 s may be owed.
    expect(rates.waitSeconds("a", 0)).toBe(5);
    expect(rates.waitSeconds("a", 4_800)).toBe(1);
    expect(rates.waitSeconds("a", 4_901)).toBeUndefined();
    expect(rates.waitSeconds("b", 0)).toBeUndefined();
  });

  it("the dearer of bytes and spans counts", () => {
    const rates = new SenderRates(LIMITS);
    rates.charge("bytes", 10_000, 1, 0);
    rates.charge("spans", 1, 100, 0);
    expect([rates.waitSeconds("bytes", 0), rates.waitSeconds("spans", 0)]).toEqual([6, 6]);
  });

  it("a sender that keeps to its rate for an hour never waits", () => {
    const rates = new SenderRates(LIMITS);
    for (let second = 0; second < 3_600; second += 1) {
      expect(rates.waitSeconds("a", 1e3 * second)).toBeUndefined();
      rates.charge("a", 1_000, 10, 1e3 * second);
    }
  });

  it("remembers 10,000 senders at most, those charged last", () => {
    const rates = new SenderRates(LIMITS);
    for (let index = 0; index <= 10_000; index += 1) rates.charge(`s${index}`, 0, 1_000, 0);
    expect(rates.waitSeconds("s0", 0)).toBeUndefined();
    expect(rates.waitSeconds("s1", 0)).toBe(96);
    expect(rates.waitSeconds("s10000", 0)).toBe(96);
  });
});
