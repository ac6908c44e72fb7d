import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateQueues, PUBLISHED_WEIGHTS } from "@tradewind/predictor/decide/facts/queue-estimate.ts";
import type { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { flow, window } from "../../measurements.ts";

const OBJECTIVE = { percentile: 0.95, tailSeconds: 0.2, meanSeconds: 0.06 };

const estimate = (windows: readonly Window[], flows: readonly FlowWindow[]) =>
  estimateQueues(
    windows,
    flows.map((each) => ({ flow: each, objective: OBJECTIVE })),
    PUBLISHED_WEIGHTS,
  );

describe("QueueFlower's virtual queue", () => {
  it("weighs own latency, mean violation and tail violation, each as a share of its sum", () => {
    // Own means 10, 30, 60 ms: shares 0.1, 0.3, 0.6. Flow one: mean 0.1 (0.04 over), p95 0.3 (0.1 over), through a and b.
    // Flow two: mean 0.08 (0.02 over), p95 0.25 (0.05 over), through a and c. Sums over services: mean a 0.06, b 0.04,
    // c 0.02 of 0.12; tail a 0.15, b 0.1, c 0.05 of 0.3.
    const windows = [
      window({ service: "a", rate: 10, ownSeconds: 0.01 }),
      window({ service: "b", rate: 10, ownSeconds: 0.03 }),
      window({ service: "c", rate: 10, ownSeconds: 0.06 }),
    ];
    const flows = [flow(["a", "b"], 0.3), flow(["a", "c"], 0.25)];
    flows[0]!.latency.meanSeconds = 0.1;
    flows[1]!.latency.meanSeconds = 0.08;
    const [a, b, c] = estimate(windows, flows);
    expect(a?.virtualQueue).toBeCloseTo(0.5 * 0.1 + 0.3 * 0.5 + 0.2 * 0.5, 12);
    expect(b?.virtualQueue).toBeCloseTo(0.5 * 0.3 + 0.3 * (4 / 12) + 0.2 * (1 / 3), 12);
    expect(c?.virtualQueue).toBeCloseTo(0.5 * 0.6 + 0.3 * (2 / 12) + 0.2 * (1 / 6), 12);
    expect(a!.virtualQueue! + b!.virtualQueue! + c!.virtualQueue!).toBeCloseTo(1, 12);
  });

  it("keeps the violation terms when a service is missing from a flow (the published code's NaN switched them off)", () => {
    const windows = [window({ service: "a", ownSeconds: 0.01 }), window({ service: "b", ownSeconds: 0.01 })];
    const [a, b] = estimate(windows, [flow(["a"], 0.5)]);
    expect(a?.virtualQueue).toBeCloseTo(0.25 + 0.3 + 0.2, 12);
    expect(b?.virtualQueue).toBeCloseTo(0.25, 12);
  });

  it("counts slack as no violation, not as a negative one", () => {
    const windows = [window({ service: "a", ownSeconds: 0.01 }), window({ service: "b", ownSeconds: 0.03 })];
    const [a, b] = estimate(windows, [flow(["a", "b"], 0.01)]);
    expect(a?.virtualQueue).toBeCloseTo(0.125, 12);
    expect(b?.virtualQueue).toBeCloseTo(0.375, 12);
  });

  it("says that a service without latency is incomplete, and knows nothing of one that no flow passes", () => {
    const windows = [
      window({ service: "a", ownSeconds: 0.01 }),
      window({ service: "on-flow" }),
      window({ service: "unknown" }),
      window({ service: "silent", rate: 0 }),
    ];
    const [a, onFlow, unknown, silent] = estimate(windows, [flow(["a", "on-flow"], 0.3)]);
    expect(a).toMatchObject({ complete: true });
    expect(onFlow).toMatchObject({ complete: false, virtualQueue: 0.25 });
    expect(unknown).toEqual({ service: "unknown", complete: false });
    expect(silent).toMatchObject({ complete: true, virtualQueue: 0, ownRequests: 0 });
  });

  it("counts the wait before the handler runs to the callee", () => {
    const caller = { ...window({ service: "caller", rate: 10, ownSeconds: 0.01 }) };
    caller.callees = [{ callee: "slow", callsPerSecond: 20, parallelRatio: 0, transitSeconds: 0.07 }];
    const slow = window({ service: "slow", rate: 20, ownSeconds: 0.02 });
    const [, queue] = estimate([caller, slow], []);
    expect(queue?.ownMeanSeconds).toBeCloseTo(0.09, 12);
    expect(queue?.ownRequests).toBeCloseTo(1.8, 12);
    expect(queue?.virtualQueue).toBeCloseTo(0.45, 12);
  });

  it("keeps Little's law next to it: rate times time", () => {
    const [queue] = estimate([window({ service: "a", rate: 50, ownSeconds: 0.04 })], []);
    expect(queue?.ownRequests).toBeCloseTo(2, 12);
    expect(queue?.inFlight).toBeCloseTo(2, 12);
  });

  it("holds each flow to its own objective", () => {
    const windows = [window({ service: "a", ownSeconds: 0.01 }), window({ service: "b", ownSeconds: 0.01 })];
    const slow = { percentile: 0.95, tailSeconds: 1, meanSeconds: 0.4 };
    const [a, b] = estimateQueues(
      windows,
      [
        { flow: flow(["a"], 0.5), objective: OBJECTIVE },
        { flow: flow(["b"], 0.5), objective: slow },
      ],
      PUBLISHED_WEIGHTS,
    );
    expect(a?.virtualQueue).toBeCloseTo(0.25 + 0.3 + 0.2, 12);
    expect(b?.virtualQueue).toBeCloseTo(0.25, 12);
  });

  const facts = fc.record({
    ownSeconds: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: undefined }),
    rate: fc.option(fc.double({ min: 0, max: 1e5, noNaN: true }), { nil: undefined }),
  });
  const someWindows = fc.array(facts, { minLength: 1, maxLength: 8 }).map((list) =>
    list.map(({ ownSeconds, rate }, index) =>
      window({
        service: `s${index}`,
        ...(ownSeconds !== undefined && { ownSeconds }),
        ...(rate !== undefined && { rate }),
      }),
    ),
  );
  const someFlows = fc.array(
    fc
      .record({
        tail: fc.double({ min: 0, max: 60, noNaN: true }),
        through: fc.array(fc.integer({ min: 0, max: 9 })),
      })
      .map(({ tail, through }) =>
        flow(
          through.map((index) => `s${index}`),
          tail,
        ),
      ),
    { maxLength: 4 },
  );

  it("is finite, not negative and sums to at most 1, whatever is missing", () => {
    fc.assert(
      fc.property(someWindows, someFlows, (windows, flows) => {
        const queues = estimate(windows, flows);
        let total = 0;
        for (const { virtualQueue = 0 } of queues) {
          expect(Number.isFinite(virtualQueue)).toBe(true);
          expect(virtualQueue).toBeGreaterThanOrEqual(0);
          total += virtualQueue;
        }
        expect(total).toBeLessThanOrEqual(1 + 1e-9);
      }),
    );
  });
});
