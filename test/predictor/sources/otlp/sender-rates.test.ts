import { describe, expect, it } from "vitest";
import { SenderRates } from "../../../../predictor/sources/otlp/sender-rates.ts";

const LIMITS = {
  maxSenderBytesPerSecond: 1_000,
  maxSenderSpansPerSecond: 10,
  maxSenderWork: 0.5,
  senderBurstSeconds: 4,
};
const costOf = (bytes: number, spans: number, workSeconds = 0) => ({ bytes, spans, workSeconds });

describe("rates of a sender", () => {
  it("4 s worth may come at once, then a sender waits until it is within its burst again", () => {
    const rates = new SenderRates(LIMITS);
    expect(rates.waitSeconds("a", 0)).toBeUndefined();
    rates.charge("a", costOf(0, 39), 0);
    expect(rates.waitSeconds("a", 0)).toBeUndefined();
    rates.charge("a", costOf(0, 50), 0);
    // 89 spans are 8.9 s, of which 4 s may be owed.
    expect(rates.waitSeconds("a", 0)).toBe(5);
    expect(rates.waitSeconds("a", 4_800)).toBe(1);
    expect(rates.waitSeconds("a", 4_901)).toBeUndefined();
    expect(rates.waitSeconds("b", 0)).toBeUndefined();
  });

  it("the dearest of bytes, spans and work counts", () => {
    const rates = new SenderRates(LIMITS);
    rates.charge("bytes", costOf(10_000, 1), 0);
    rates.charge("spans", costOf(1, 100), 0);
    rates.charge("work", costOf(1, 1, 5), 0);
    expect(["bytes", "spans", "work"].map((sender) => rates.waitSeconds(sender, 0))).toEqual([6, 6, 6]);
  });

  it("a sender that keeps to its rate for an hour never waits", () => {
    const rates = new SenderRates(LIMITS);
    for (let second = 0; second < 3_600; second += 1) {
      expect(rates.waitSeconds("a", 1e3 * second)).toBeUndefined();
      rates.charge("a", costOf(1_000, 10), 1e3 * second);
    }
  });

  it("remembers 10,000 senders at most, those charged last", () => {
    const rates = new SenderRates(LIMITS);
    for (let index = 0; index <= 10_000; index += 1) rates.charge(`s${index}`, costOf(0, 1_000), 0);
    expect(rates.waitSeconds("s0", 0)).toBeUndefined();
    expect(rates.waitSeconds("s1", 0)).toBe(96);
    expect(rates.waitSeconds("s10000", 0)).toBe(96);
  });
});
