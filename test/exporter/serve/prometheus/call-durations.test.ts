import fc from "fast-check";
import { Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { CALL_BUCKETS_SECONDS, CallCounts } from "@tradewind/exporter/serve/keda/call-counts.ts";
import { callDurations } from "@tradewind/exporter/serve/prometheus/call-durations.ts";

const CODE_NAMES = { 0: "OK", 1: "CANCELLED", 14: "UNAVAILABLE" };
const call = fc.record({
  rpc: fc.constantFrom("GetMetrics", "IsActive"),
  code: fc.constantFrom(0, 1, 14),
  seconds: fc.oneof(fc.double({ min: 0, max: 10, noNaN: true }), fc.constantFrom(...CALL_BUCKETS_SECONDS)),
});

const linesOf = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics()).split("\n").sort();

describe("the durations of calls", () => {
  it("are exposed as the library's own histogram would, whatever the calls were", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 40 }), async (calls) => {
        const counts = new CallCounts(CODE_NAMES);
        const [ours, theirs] = [new Registry(), new Registry()];
        const metric = callDurations(() => counts.series());
        ours.registerMetric(metric);
        const reference = new Histogram({
          name: "tradewind_keda_rpc_duration_seconds",
          help: "Time from the headers of a KEDA call to its status, by RPC and gRPC status.",
          labelNames: ["rpc", "code"],
          buckets: [...CALL_BUCKETS_SECONDS],
          registers: [theirs],
        });
        for (const code of ["OK", "UNAVAILABLE"]) reference.zero({ rpc: "GetMetricSpec", code });
        for (const { rpc, code, seconds } of calls) {
          counts.finished(rpc, code, seconds);
          reference.observe({ rpc, code: CODE_NAMES[code as 0] }, seconds);
        }
        expect(await linesOf(ours)).toEqual(await linesOf(theirs));
      }),
    );
  });

  it("of GetMetricSpec are there from 0 on, so that a first burst of failures is a rise", async () => {
    const registry = new Registry();
    registry.registerMetric(callDurations(() => new CallCounts(CODE_NAMES).series()));
    expect(await registry.metrics()).toContain(
      'tradewind_keda_rpc_duration_seconds_count{rpc="GetMetricSpec",code="UNAVAILABLE"} 0',
    );
  });

  it("of a status without a name are those of UNKNOWN", () => {
    const counts = new CallCounts(CODE_NAMES);
    counts.finished("GetMetrics", 99, 0.001);
    expect(counts.series()).toContainEqual(expect.objectContaining({ rpc: "GetMetrics", code: "UNKNOWN" }));
  });
});
