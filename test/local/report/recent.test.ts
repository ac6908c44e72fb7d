import { describe, expect, it } from "vitest";
import { createRecentMeter } from "@tradewind/local/report/recent.ts";

const outcome = (dueSeconds: number, latencySeconds = 0.1, failed = false) => ({
  route: "GET /",
  dueSeconds,
  latencySeconds,
  failed,
});

describe("createRecentMeter", () => {
  it("knows nothing until the first requests must have been answered", () => {
    const meter = createRecentMeter(5);
    meter.record(outcome(0.5));
    expect(meter.read(1.5)).toEqual({ requestsPerSecond: 0, p95Seconds: undefined, failed: 0 });
  });

  it("leaves out the last two seconds, in which slow requests are still under way", () => {
    const meter = createRecentMeter(5);
    // 10 requests/s; at 20 s those due from 13 s to 18 s count.
    for (let tenth = 0; tenth < 200; tenth += 1) meter.record(outcome(tenth / 10 + 0.05));
    expect(meter.read(20).requestsPerSecond).toBeCloseTo(10, 9);
  });

  it("counts failures and takes the 95th percentile of what is in the window alone", () => {
    const meter = createRecentMeter(5);
    meter.record(outcome(1, 2, true));
    for (let index = 0; index < 19; index += 1) meter.record(outcome(15, 0.1));
    meter.record(outcome(16, 2, true));
    expect(meter.read(20)).toEqual({ requestsPerSecond: 4, p95Seconds: 0.1, failed: 1 });
  });
});
