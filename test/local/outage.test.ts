import { describe, expect, it } from "vitest";
import { createOutage } from "@tradewind/local/outage.ts";
import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";

describe("createOutage", () => {
  it("counts the scaler's answers between the kill of the predictor and its return", () => {
    const meters = { rpcLatency: new LatencyHistogram(), rpcErrors: 1 };
    meters.rpcLatency.add(1);
    const outage = createOutage(meters);
    expect(outage.end(5)).toBeUndefined();
    outage.begin(10);
    for (let call = 0; call < 24; call += 1) meters.rpcLatency.add(1);
    expect(outage.note(12)).toBe(
      "predictor killed, away for 2.0 s; meanwhile the scaler answered 24 of KEDA's 24 calls",
    );
    meters.rpcErrors += 2;
    expect(outage.end(13)).toBe(
      "the predictor is back after 3.0 s; meanwhile the scaler answered 22 of KEDA's 24 calls",
    );
    expect(outage.note(14)).toBeUndefined();
  });
});
