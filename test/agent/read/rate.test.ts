import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Rate, ratio, Unwrapped } from "@tradewind/agent/read/rate.ts";

describe("Rate", () => {
  test("the first read gives no rate, the second the mean in between", () => {
    const rate = new Rate();
    expect(rate.next(10, 100)).toBeUndefined();
    expect(rate.next(16, 102)).toBe(3);
  });

  test("a reset gives no rate, and counting goes on from the new value", () => {
    const rate = new Rate();
    rate.next(10, 0);
    expect(rate.next(2, 1)).toBeUndefined();
    expect(rate.next(5, 2)).toBe(3);
  });

  test("two reads at one time give no rate and keep the first", () => {
    const rate = new Rate();
    rate.next(10, 5);
    expect(rate.next(12, 5)).toBeUndefined();
    expect(rate.next(14, 6)).toBe(4);
  });

  test("a read that failed leaves a gap, not a zero", () => {
    const rate = new Rate();
    rate.next(10, 0);
    expect(rate.next(undefined, 1)).toBeUndefined();
    expect(rate.next(30, 2)).toBeUndefined();
    expect(rate.next(31, 3)).toBe(1);
  });

  test("is never negative and never NaN, whatever is read", () => {
    const read = fc.tuple(
      fc.option(fc.double({ min: 0, max: 1e18, noNaN: true })),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
    );
    fc.assert(
      fc.property(fc.array(read), (reads) => {
        const rate = new Rate();
        for (const [total, seconds] of reads) {
          expect(rate.next(total ?? undefined, seconds) ?? 0).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});

describe("Unwrapped", () => {
  test("counts on past the wrap of 32 bits", () => {
    const counter = new Unwrapped();
    counter.next(2 ** 32 - 10);
    expect(counter.next(5)).toBe(2 ** 32 + 5);
  });

  test("a small step back is a reset: what was counted stays", () => {
    const counter = new Unwrapped();
    counter.next(1000);
    expect(counter.next(7)).toBe(1007);
  });

  test("never falls", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2 ** 31 - 1).map((half) => half * 2)), (raws) => {
        const counter = new Unwrapped();
        let last = 0;
        for (const raw of raws) {
          const next = counter.next(raw);
          expect(next).toBeGreaterThanOrEqual(last);
          last = next;
        }
      }),
    );
  });
});

test("a ratio of nothing known, or to nothing, is not known", () => {
  expect(ratio(1, undefined)).toBeUndefined();
  expect(ratio(undefined, 2)).toBeUndefined();
  expect(ratio(1, 0)).toBeUndefined();
  expect(ratio(1, 2)).toBe(0.5);
});
