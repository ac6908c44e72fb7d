import { describe, expect, it } from "vitest";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { Outcomes } from "@tradewind/exporter/decide/outcomes.ts";
import type { OpenDecision } from "@tradewind/exporter/decide/outcomes.ts";

const WINDOW_MS = 15_000;
const PLACE = { namespace: "shop", name: "hotel" };

const measured = (latencySeconds: number): Extract<Reason, { code: "measured" }> => ({
  code: "measured",
  percentile: 0.95,
  latencySeconds,
  objectiveSeconds: 0.2,
  requestsPerSecond: 30,
  overRatio: 0.04,
  windowSeconds: 15,
});

const decision = (decisionId: string): OpenDecision => ({
  event: {
    kind: "decision",
    application: "hotel",
    namespace: "shop",
    service: "search",
    atMs: 0,
    decisionId,
    mode: "act",
    policy: "planner",
    before: { replicas: 2 },
    after: { replicas: 4 },
    codes: [],
    recordHash: "0".repeat(64),
  },
  reasons: [
    {
      code: "expected",
      percentile: 0.95,
      expectedSeconds: 0.185,
      expectedLowSeconds: 0.12,
      expectedHighSeconds: 0.26,
      costPerHour: 0.012,
    },
  ],
});

/** Windows of these latencies, the decision with the first; undefined: nothing was measured. */
function after(latencies: readonly (number | undefined)[], windowMs = WINDOW_MS): AuditEvent[] {
  const outcomes = new Outcomes();
  return latencies.flatMap((latencySeconds, index) =>
    outcomes.see(
      PLACE,
      {
        measured: latencySeconds === undefined ? undefined : measured(latencySeconds),
        windowEndMs: 1 + index * windowMs,
        atMs: index * windowMs,
      },
      index === 0 ? [decision("d-1")] : [],
    ),
  );
}

describe("what came of a decision", () => {
  it("is said once, in the third window after it, beside what was expected", () => {
    expect(after([0.6, 0.5, 0.3, 0.21, 0.19])).toMatchObject([
      {
        kind: "outcome",
        decisionId: "d-1",
        service: "search",
        atMs: 3 * WINDOW_MS,
        outcome: {
          code: "outcome-missed",
          facts: { windows: 3, latencySeconds: 0.21, objectiveSeconds: 0.2, wasExpectedSeconds: 0.185 },
        },
      },
    ]);
    expect(after([0.6, 0.5, 0.3, 0.15])).toMatchObject([{ outcome: { code: "outcome-met" } }]);
  });

  it("waits for windows that measured something", () => {
    expect(after([0.6, undefined, 0.3, 0.21])).toEqual([]);
    expect(after([0.6, undefined, 0.3, 0.21, 0.15])).toMatchObject([{ outcome: { code: "outcome-met" } }]);
  });

  it("does not count the same window twice", () => {
    expect(after([0.6, 0.5, 0.3, 0.21], 0)).toEqual([]);
  });

  it("is not said of an application that is gone", () => {
    const outcomes = new Outcomes();
    const see = (index: number, decided: readonly OpenDecision[] = []) =>
      outcomes.see(PLACE, { measured: measured(0.3), windowEndMs: index, atMs: index }, decided);
    see(1, [decision("d-1")]);
    outcomes.forget(PLACE);
    expect([2, 3, 4].flatMap((index) => see(index))).toEqual([]);
  });
});
