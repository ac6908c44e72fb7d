import type { WindowSet } from "@tradewind/core/contract/window.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { application, flow, inputs, START_MS, window, WINDOW_MS, windowSet } from "../../measurements.ts";
import type { ServiceFacts } from "../../measurements.ts";

const TEN = application({ budget: { pods: 10 } });
const replicas = ({ plan }: PolicyOutcome): Record<string, number> =>
  Object.fromEntries(plan.wishes.map(({ service, allocation }) => [service, allocation.replicas]));

function three(facts: readonly Partial<ServiceFacts>[], tailSeconds: number, startMs = START_MS): WindowSet {
  const names = ["frontend", "geo", "rate"];
  return windowSet(
    names.map((service, index) =>
      window(
        { service, replicas: 2, rate: 20, ownSeconds: 0.02, podUsageCores: 0.1, ...facts[index] },
        startMs,
      ),
    ),
    [flow(names, tailSeconds)],
  );
}

describe("a pod budget", () => {
  it("is shared in proportion to the queues", () => {
    // Within the objective only own latency counts: 10, 10 and 30 ms share 10 pods 2 : 2 : 6.
    const set = three([{ ownSeconds: 0.01 }, { ownSeconds: 0.01 }, { ownSeconds: 0.03 }], 0.1);
    expect(replicas(decide(inputs(set, { application: TEN })))).toEqual({ frontend: 2, geo: 2, rate: 6 });
  });

  it("keeps its shares while the objective is met", () => {
    const set = three([{ replicas: 4 }, { replicas: 4 }, { replicas: 2, ownSeconds: 0.06 }], 0.1);
    expect(replicas(decide(inputs(set, { application: TEN })))).toEqual({ frontend: 4, geo: 4, rate: 2 });
  });

  it("moves pods when the objective is missed, at most half of a service's at once", () => {
    const set = three([{ replicas: 4 }, { replicas: 4 }, { replicas: 2, ownSeconds: 0.5 }], 0.6);
    expect(replicas(decide(inputs(set, { application: TEN })))).toEqual({ frontend: 2, geo: 2, rate: 6 });
  });

  it("leaves each service its reactive need", () => {
    // geo asks for 2.4 cores: 4 pods.
    const set = three(
      [{ replicas: 4 }, { replicas: 4, podUsageCores: 0.6 }, { replicas: 2, ownSeconds: 0.5 }],
      0.6,
    );
    expect(replicas(decide(inputs(set, { application: TEN })))).toEqual({ frontend: 2, geo: 4, rate: 4 });
  });

  it("keeps the pods of a service without latency, and counts them", () => {
    const set = three([{ replicas: 4 }, { replicas: 4 }, { replicas: 2, ownSeconds: 0.5 }], 0.6);
    const { ownLatency: _own, requestsPerSecond: _rate, ...silent } = set.windows[1]!;
    const outcome = decide(
      inputs({ ...set, windows: [set.windows[0]!, silent, set.windows[2]!] }, { application: TEN }),
    );
    expect(replicas(outcome)).toEqual({ frontend: 2, geo: 4, rate: 4 });
  });

  it("waits while pods that were moved do not serve yet", () => {
    const first = three([{ replicas: 4 }, { replicas: 4 }, { replicas: 2, ownSeconds: 0.5 }], 0.6);
    const { state } = decide(inputs(first, { application: TEN }));
    const second = three(
      [{ replicas: 2 }, { replicas: 2 }, { replicas: 4, wanted: 6, ownSeconds: 0.9 }],
      0.9,
      START_MS + WINDOW_MS,
    );
    const outcome = decide(inputs(second, { application: TEN, state }));
    expect(replicas(outcome)).toEqual({ frontend: 2, geo: 2, rate: 6 });
    expect(outcome.plan.policyReasons).toContainEqual({
      code: "replicas-starting",
      services: ["rate"],
    });
  });

  it("gives way to minimum replicas when it is too small, and says by how much", () => {
    const app = application({ budget: { pods: 2 } });
    const outcome = decide(inputs(three([], 0.1), { application: app }));
    expect(replicas(outcome)).toEqual({ frontend: 1, geo: 1, rate: 1 });
    expect(outcome.plan.policyReasons).toContainEqual({ code: "budget", budgetReplicas: 2, overReplicas: 1 });
  });

  it("shares out what is left above the minima when not even the reactive needs fit", () => {
    // Each asks for 1.8 cores, 3 pods; 7 pods are there for 9.
    const busy = { podUsageCores: 0.9 };
    const app = application({ budget: { pods: 7 } });
    const wished = Object.values(
      replicas(decide(inputs(three([busy, busy, busy], 0.5), { application: app }))),
    );
    expect(wished.toSorted((a, b) => a - b)).toEqual([2, 2, 3]);
  });

  it("is used exactly whatever was measured, as long as the bounds allow it", () => {
    const facts = fc.record({
      replicas: fc.integer({ min: 1, max: 6 }),
      ownSeconds: fc.double({ min: 0, max: 5, noNaN: true }),
      podUsageCores: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(
        fc.array(facts, { minLength: 3, maxLength: 3 }),
        fc.integer({ min: 3, max: 60 }),
        (list, pods) => {
          const set = three(list, 0.5);
          const outcome = decide(inputs(set, { application: application({ budget: { pods } }) }));
          expect(outcome.plan.wishes.reduce((sum, { allocation }) => sum + allocation.replicas, 0)).toBe(
            pods,
          );
        },
      ),
    );
  });
});
