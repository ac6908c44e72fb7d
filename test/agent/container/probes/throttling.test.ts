import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Throttling } from "@tradewind/agent/container/probes/throttling.ts";

const counts = (periods: number, throttledPeriods: number) => ({
  periods,
  throttledPeriods,
  throttledSeconds: throttledPeriods / 16,
});

describe("throttling of a container", () => {
  it("is its own where its pod has no quota, as the kernel counts it", () => {
    const throttling = new Throttling();
    expect(throttling.next(counts(10, 2), undefined)).toEqual(counts(10, 2));
    expect(throttling.next(counts(3, 1), undefined)).toEqual(counts(3, 1));
  });

  it("is its pod's where it has no quota of its own", () => {
    const throttling = new Throttling();
    expect(throttling.next(counts(0, 0), counts(600, 90))).toEqual(counts(600, 90));
    expect(throttling.next(counts(0, 0), counts(610, 98))).toEqual(counts(610, 98));
  });

  it("is of each time that of the two which held it back more", () => {
    const throttling = new Throttling();
    expect(throttling.next(counts(100, 10), counts(900, 500))).toEqual(counts(100, 10));
    expect(throttling.next(counts(110, 14), counts(910, 501))).toEqual(counts(110, 14));
    expect(throttling.next(counts(120, 14), counts(920, 509))).toEqual(counts(120, 22));
  });

  it("never falls and never exceeds what both quotas counted", () => {
    const rise = fc.record({ own: fc.nat(10), pod: fc.nat(10) });
    fc.assert(
      fc.property(fc.array(rise, { minLength: 1, maxLength: 20 }), (rises) => {
        const throttling = new Throttling();
        let [own, pod, periods, last] = [0, 0, 0, 0];
        for (const step of rises) {
          own += step.own;
          pod += step.pod;
          periods += 10;
          const { throttledPeriods } = throttling.next(counts(periods, own), counts(periods, pod));
          expect(throttledPeriods).toBeGreaterThanOrEqual(last);
          expect(throttledPeriods).toBeLessThanOrEqual(own + pod);
          last = throttledPeriods;
        }
      }),
    );
  });
});
