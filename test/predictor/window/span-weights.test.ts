import { describe, expect, it } from "vitest";
import { ArrivalCounter } from "../../../predictor/window/arrival-counter.ts";
import { DEFAULT_WINDOW_LIMITS } from "../../../predictor/window/limits.ts";
import { SpanWeights } from "../../../predictor/window/span-weights.ts";
import { ARRIVAL_MS, T0, batchOf, buildFirst, newBuilder, serviceIn, traceOf } from "./traced.ts";

const requests = (count: number, adjustedCount?: number) =>
  Array.from({ length: count }, (_, index) =>
    traceOf({
      service: "geo",
      kind: "server",
      at: 20 * index,
      for: 10,
      ...(adjustedCount && { adjustedCount }),
    }),
  ).flat();

/** Requests per second of the window in which these spans arrive, and of how many the builder did not believe the weight. */
function counted(...batches: ReturnType<typeof requests>[]) {
  const builder = newBuilder();
  for (const spans of batches) builder.add(batchOf(spans), ARRIVAL_MS);
  const { weightsClamped } = builder.totals();
  return { rate: serviceIn(buildFirst(builder), "geo").requestsPerSecond!, weightsClamped };
}

describe("the weight of a sampled span", () => {
  it("one span that says it stands for 100,000 requests counts as one of a service that is not sampled", () => {
    expect(counted(requests(600), requests(1, 100_000))).toEqual({ rate: 601 / 15, weightsClamped: 1 });
    expect(counted(requests(600), requests(1, 1e12))).toEqual({ rate: 601 / 15, weightsClamped: 1 });
  });

  it.each([1, 2, 10, 100, 1_000])("requests sampled 1 in %d are right from the first span on", (weight) => {
    for (const count of [1, 2, 3, 40]) {
      const { rate, weightsClamped } = counted(requests(count, weight));
      expect(rate).toBeCloseTo((count * weight) / 15, 6);
      expect(weightsClamped).toBe(0);
    }
  });

  it("requests sampled 1 in 10,000 are right from the 20th span on, and count for 1,000 before", () => {
    const { rate, weightsClamped } = counted(requests(60, 10_000));
    expect([rate, weightsClamped]).toEqual([(19 * 1_000 + 41 * 10_000) / 15, 19]);
  });

  it("operations sampled at different rates are right once a few of each came", () => {
    // 100 requests/s that are not sampled, and 1,000/s sampled 1 in 1,000.
    const { rate, weightsClamped } = counted(requests(750), requests(750), requests(15, 1_000));
    expect([rate, weightsClamped]).toEqual([(1_500 + 4 + 11 * 1_000) / 15, 4]);
  });

  it("spans that say nothing keep the weight that is configured, also where others say too much", () => {
    const builder = newBuilder({ assumedSamplingRatio: 0.01 });
    builder.add(batchOf(requests(30)), ARRIVAL_MS);
    builder.add(batchOf(requests(1, 1_000)), ARRIVAL_MS);
    expect(serviceIn(buildFirst(builder), "geo").requestsPerSecond).toBe((31 * 100) / 15);
  });

  it("arrivals count spans as the builder does, those it refused once", () => {
    const arrivals = new ArrivalCounter({ services: () => ["geo"], slotMs: 1_000, keepMs: 60_000 });
    const builder = newBuilder({ maxSpansPerTrace: 1 });
    const [span] = requests(1, 100_000);
    const again = { ...span!, spanId: "f".repeat(16) };
    for (const spans of [requests(20), requests(1, 1_000), [span!], [again]]) {
      const batch = batchOf(spans);
      builder.add(batch, ARRIVAL_MS);
      arrivals.add(batch, ARRIVAL_MS);
    }
    expect(arrivals.between(T0, ARRIVAL_MS)).toEqual({ spans: 23, requests: 23 });
  });

  it("a weight is believed for as long as the service carries it, and its number when it is given to another", () => {
    const weights = new SpanWeights(DEFAULT_WINDOW_LIMITS);
    const minute = 60_000;
    for (let span = 0; span < 100; span += 1) weights.believed(1, 100, true, 0);
    for (let span = 0; span < 100; span += 1) weights.believed(1, 1, true, 6 * minute);
    expect(weights.believed(1, 100, true, 9 * minute)).toBe(100);
    for (const at of [12, 18]) {
      for (let span = 0; span < 10; span += 1) weights.believed(1, 1, true, at * minute);
    }
    expect(weights.believed(1, 100, true, 24 * minute)).toBe(1);
    weights.forget(1);
    expect(weights.believed(1, 100, true, 24 * minute)).toBe(100);
  });

  it("calls that a service makes do not make its weight believed", () => {
    const weights = new SpanWeights(DEFAULT_WINDOW_LIMITS);
    for (let span = 0; span < 100; span += 1) weights.believed(1, 1, true, 0);
    for (let span = 0; span < 100; span += 1) expect(weights.believed(1, 500, false, 0)).toBe(1);
    expect(weights.believed(1, 500, true, 0)).toBe(1);
  });
});
