import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CostMeter, WorkShares } from "@tradewind/core/net/cost-meter.ts";

describe("a cost meter", () => {
  it("lets a burst come at once, and then a share of each second", () => {
    const meter = new CostMeter({ share: 0.5, burstSeconds: 10 });
    meter.charge("a", 9.9, 0);
    expect(meter.waitSeconds("a", 0)).toBeUndefined();
    meter.charge("a", 2.1, 0);
    // 12 s of work are 2 s beyond the burst, which 4 s at half a core make up for.
    expect(meter.waitSeconds("a", 0)).toBe(4);
    expect(meter.waitSeconds("a", 4_001)).toBeUndefined();
    expect(meter.waitSeconds("b", 0)).toBeUndefined();
  });

  it("never refuses a sender that keeps to its share", () => {
    const meter = new CostMeter({ share: 0.5, burstSeconds: 1 });
    for (let second = 0; second < 3_600; second += 1) {
      expect(meter.waitSeconds("a", 1e3 * second)).toBeUndefined();
      meter.charge("a", 0.5, 1e3 * second);
    }
  });

  it("remembers 10,000 senders at most, those charged last", () => {
    const meter = new CostMeter({ share: 1, burstSeconds: 1 });
    for (let index = 0; index <= 10_000; index += 1) meter.charge(`s${index}`, 5, 0);
    expect([0, 1, 10_000].map((index) => meter.waitSeconds(`s${index}`, 0))).toEqual([undefined, 4, 4]);
  });
});

describe("shares of work", () => {
  it("are halves of what is used while two requests are in progress", () => {
    const shares = new WorkShares();
    const first = shares.begin(0);
    const second = shares.begin(1_000);
    expect(first(3_000)).toBeCloseTo(2);
    expect(second(3_500)).toBeCloseTo(1.5);
    expect(second(9_000)).toBe(0);
  });

  it("make no more than the whole, in whatever order requests begin and end", () => {
    const step = fc.record({ usedMs: fc.integer({ min: 0, max: 1_000 }), index: fc.nat(9) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const shares = new WorkShares();
        const open = new Map<number, (cpuMs: number) => number>();
        let cpuMs = 0;
        let charged = 0;
        for (const { index, usedMs } of steps) {
          cpuMs += usedMs;
          const end = open.get(index);
          if (end === undefined) open.set(index, shares.begin(cpuMs));
          else {
            charged += end(cpuMs);
            open.delete(index);
          }
        }
        for (const end of open.values()) charged += end(cpuMs);
        expect(charged).toBeLessThanOrEqual(cpuMs / 1e3 + 1e-9);
      }),
    );
  });
});
