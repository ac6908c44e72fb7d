import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bucketQuantile,
  meanFitsBuckets,
  summarise,
} from "@tradewind/predictor/sources/prometheus/bucket.ts";
import type { Buckets } from "@tradewind/predictor/sources/prometheus/bucket.ts";
import {
  cumulativeBuckets,
  mergeBuckets,
  parseBound,
  plainBuckets,
} from "@tradewind/predictor/sources/prometheus/classic-histogram.ts";
import { readNativeHistogram } from "@tradewind/predictor/sources/prometheus/native-histogram.ts";

const INF = Number.POSITIVE_INFINITY;

function classic(points: readonly (readonly [number, number])[], unitSeconds = 1): Buckets {
  return plainBuckets(cumulativeBuckets(new Map(points), 1)!, unitSeconds);
}

describe("bucketQuantile of classic buckets", () => {
  // 10 calls up to 0.1 s, 30 more up to 0.2, 10 more up to 0.4.
  const worked = classic([
    [0.1, 10],
    [0.2, 40],
    [0.4, 50],
    [INF, 50],
  ]);

  it.each([
    ["the middle of the second bucket", 0.5, 0.15],
    ["the end of the first bucket", 0.2, 0.1],
    ["half of the last bucket", 0.9, 0.3],
    ["half of the first bucket, from 0", 0.1, 0.05],
  ])("is linear within a bucket: %s", (_name, q, seconds) => {
    expect(bucketQuantile(worked, q)).toBeCloseTo(seconds, 12);
  });

  it("is the highest bound when it falls beyond it", () => {
    expect(
      bucketQuantile(
        classic([
          [0.1, 1],
          [0.2, 1],
          [INF, 10],
        ]),
        0.95,
      ),
    ).toBe(0.2);
  });

  it("converts the unit, and is unknown without calls", () => {
    expect(
      bucketQuantile(
        classic(
          [
            [100, 1],
            [INF, 1],
          ],
          0.001,
        ),
        0.5,
      ),
    ).toBeCloseTo(0.05, 12);
    expect(
      bucketQuantile(
        classic([
          [0.1, 0],
          [INF, 0],
        ]),
        0.5,
      ),
    ).toBeUndefined();
  });

  it("lies in the bucket of the true quantile of any sample", () => {
    const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1e-6, max: 10, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        (values, q) => {
          const points = [...bounds, INF].map(
            (bound) => [bound, values.filter((value) => value <= bound).length] as const,
          );
          const estimate = bucketQuantile(classic(points), q)!;
          const truth = values.sort((a, b) => a - b)[Math.ceil(q * values.length) - 1]!;
          const upper = bounds.find((bound) => truth <= bound)!;
          const lower = bounds[bounds.indexOf(upper) - 1] ?? 0;
          expect(estimate).toBeGreaterThanOrEqual(lower - 1e-12);
          expect(estimate).toBeLessThanOrEqual(upper + 1e-12);
        },
      ),
    );
  });
});

describe("summarise", () => {
  const buckets = classic([
    [0.1, 10],
    [0.2, 40],
    [INF, 40],
  ]);

  it("takes the mean from sum and count and the number of calls from the rate", () => {
    expect(summarise(buckets, 4.8, 40, 15)).toMatchObject({ count: 600, meanSeconds: 0.12 });
  });

  it.each([
    ["ten times too high", 48],
    ["below the lowest bounds", 0.1],
    ["negative", -1],
    ["no number", Number.NaN],
  ])("says nothing when the sum is %s", (_name, sum) => {
    expect(summarise(buckets, sum, 40, 15)).toBeUndefined();
  });

  it("allows any mean above the open last bucket", () => {
    expect(
      meanFitsBuckets(
        classic([
          [0.1, 0],
          [INF, 5],
        ]),
        1_000,
      ),
    ).toBe(true);
  });
});

describe("cumulativeBuckets", () => {
  it.each([
    [
      "has no +Inf bucket",
      [
        [0.1, 1],
        [0.2, 2],
      ],
    ],
    [
      "holds a value that is no number",
      [
        [0.1, Number.NaN],
        [INF, 2],
      ],
    ],
    [
      "holds a negative value",
      [
        [0.1, -1],
        [INF, 2],
      ],
    ],
    [
      "falls by more than rounding",
      [
        [0.1, 8],
        [0.2, 5],
        [INF, 10],
      ],
    ],
    ["has nothing but +Inf", [[INF, 10]]],
  ] as const)("does not trust a histogram that %s", (_name, points) => {
    expect(cumulativeBuckets(new Map(points as unknown as [number, number][]), 1)).toBeUndefined();
  });

  it("levels rounding, and wants a sum", () => {
    const points = new Map([
      [0.1, 5.0000001],
      [0.2, 5],
      [INF, 5],
    ]);
    expect(cumulativeBuckets(points, 1)?.cumulative).toEqual([5.0000001, 5.0000001, 5.0000001]);
    expect(cumulativeBuckets(points, Number.NaN)).toBeUndefined();
  });

  it("reads bounds as Prometheus writes them", () => {
    expect(["0.1", "1e+06", "+Inf", "", "x", undefined].map(parseBound)).toEqual([
      0.1,
      1e6,
      INF,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("mergeBuckets", () => {
  const coarse = { bounds: [0.1, INF], cumulative: [5, 10], sum: 1 };

  it("adds equal bounds up and reduces finer ones exactly", () => {
    const fine = { bounds: [0.05, 0.1, INF], cumulative: [1, 2, 4], sum: 2 };
    expect(mergeBuckets([coarse, coarse, fine])).toEqual({
      merged: { bounds: [0.1, INF], cumulative: [12, 24], sum: 4 },
      leftOut: 0,
    });
  });

  it("leaves out, with its sum, one that lacks a bound", () => {
    const other = { bounds: [0.3, INF], cumulative: [7, 7], sum: 100 };
    expect(mergeBuckets([coarse, coarse, other])).toEqual({
      merged: { bounds: [0.1, INF], cumulative: [10, 20], sum: 2 },
      leftOut: 1,
    });
  });
});

describe("readNativeHistogram", () => {
  it("reads an answer of the query API and interpolates on a log scale", () => {
    const read = readNativeHistogram(
      {
        count: "8",
        sum: "16",
        buckets: [
          [0, "1", "2", "4"],
          [0, "2", "4", "4"],
        ],
      },
      1,
    );
    expect(read).toMatchObject({ count: 8, sum: 16 });
    expect(bucketQuantile(read!.buckets, 0.25)).toBeCloseTo(Math.SQRT2, 12);
    expect(bucketQuantile(read!.buckets, 0.75)).toBeCloseTo(2 * Math.SQRT2, 12);
  });

  it("takes the zero bucket from 0 and converts the unit", () => {
    const read = readNativeHistogram({ count: "2", sum: "1", buckets: [[3, "-0.001", "0.001", "2"]] }, 0.001);
    expect(bucketQuantile(read!.buckets, 0.5)).toBeCloseTo(0.5e-6, 12);
  });

  it("reads custom buckets, the first and the last of which have one bound only, evenly within each", () => {
    const value = {
      count: "12",
      sum: "3.4",
      buckets: [
        [0, "-Inf", "0.1", "2"],
        [0, "0.1", "1", "9"],
        [0, "1", "+Inf", "1"],
      ],
    };
    const { buckets, count, sum } = readNativeHistogram(value, 1)!;
    expect(bucketQuantile(buckets, 1 / 12)).toBeCloseTo(0.05, 12);
    expect(bucketQuantile(buckets, 6.5 / 12)).toBeCloseTo(0.55, 12);
    expect(bucketQuantile(buckets, 0.99)).toBe(1);
    expect(summarise(buckets, sum, count, 15)).toMatchObject({ count: 180, p99Seconds: 1 });
    expect(readNativeHistogram(value, 0.001)?.buckets.uppers).toEqual([0.0001, 0.001, INF]);
  });

  it.each([
    [
      "a bucket beyond one without an end",
      {
        count: "2",
        sum: "1",
        buckets: [
          [0, "1", "+Inf", "1"],
          [0, "2", "3", "1"],
        ],
      },
    ],
    ["a count without an end", { count: "+Inf", sum: "1", buckets: [[0, "1", "2", "+Inf"]] }],
    ["a negative count", { count: "-1", sum: "1", buckets: [] }],
    ["a sum that is no number", { count: "1", sum: "NaN", buckets: [] }],
    ["a bucket turned around", { count: "1", sum: "1", buckets: [[0, "2", "1", "1"]] }],
    ["a bucket without a count", { count: "1", sum: "1", buckets: [[0, "1", "2"]] }],
    ["no histogram", "12"],
  ])("refuses %s", (_name, value) => {
    expect(readNativeHistogram(value, 1)).toBeUndefined();
  });
});

describe("histograms that contradict themselves", () => {
  it("with bounds below 0 have no quantile below 0", () => {
    const buckets = classic([
      [-1, 5],
      [INF, 10],
    ]);
    expect(bucketQuantile(buckets, 0.5)).toBe(0);
  });

  it("of more calls than can be counted have no latency", () => {
    const buckets = classic([
      [1, 8],
      [INF, 2 ** 64],
    ]);
    expect(summarise(buckets, 1e300, 2 ** 64, 15)).toBeUndefined();
  });

  it("with native buckets that overlap are not read", () => {
    const buckets = [
      [0, "0", "5", "8"],
      [0, "0", "0.5", "4"],
    ];
    expect(readNativeHistogram({ count: "12", sum: "3", buckets }, 1)).toBeUndefined();
  });

  it("with native buckets that share a bound but for rounding are read", () => {
    const buckets = [
      [0, "0.25", "0.35355339059327379", "8"],
      [0, "0.35355339059327373", "0.5", "4"],
    ];
    expect(readNativeHistogram({ count: "12", sum: "4", buckets }, 1)?.buckets.counts).toEqual([8, 4]);
  });
});
