import { PUSHED, SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";
import { describe, expect, it } from "vitest";
import { batchOf, traceOf } from "../window/traced.ts";

const spansOf = (service: string) => batchOf(traceOf({ service, kind: "server", at: 0, for: 10 }));

describe("the origins of spans", () => {
  it("tell of a service as long as one source did that has not failed", () => {
    const origins = new SpanOrigins();
    origins.note(PUSHED, spansOf("cart"), 1_000);
    origins.note("jaeger", spansOf("cart"), 1_000);
    origins.note("jaeger", spansOf("stock"), 1_000);
    expect([...origins.since(500, [])].sort()).toEqual(["cart", "stock"]);
    expect([...origins.since(500, ["jaeger"])]).toEqual(["cart"]);
  });

  it("forget what was told before", () => {
    const origins = new SpanOrigins();
    origins.note(PUSHED, spansOf("cart"), 1_000);
    expect([...origins.since(1_001, [])]).toEqual([]);
    expect([...origins.since(0, [])]).toEqual([]);
  });

  it("hold a bounded number of services", () => {
    const origins = new SpanOrigins();
    for (let index = 0; index < 6_000; index += 1) origins.note(PUSHED, spansOf(`s-${index}`), 1);
    expect(origins.since(0, []).size).toBe(5_000);
  });
});
