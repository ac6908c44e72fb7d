import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import { inputs, START_MS, WINDOW_MS } from "../measurements.ts";
import { chained } from "./modelled.ts";
import { FRONTEND, made, replicasOf, wishOf } from "./decisions.ts";

const CALM_WINDOWS = 20;
/** Two replicas at a third of their CPU: the models see no reason for any wait. */
const SERVICES = [FRONTEND, made("backend", { replicas: 2, requestsPerSecond: 30 })];

interface Miss {
  /** Share of throttled periods of each container of the backend. */
  readonly throttledRatio: number;
  readonly windows: number;
  /** p95 of the route in the miss, seconds; the objective is 0.2. */
  readonly tailSeconds?: number;
}

/** A calm, then windows in which callers wait as no span shows; what is decided does not run. */
function missed({ tailSeconds = 1.6, throttledRatio, windows }: Miss, after = 0): PolicyOutcome[] {
  let state: PolicyInputs["state"] | undefined;
  return Array.from({ length: CALM_WINDOWS + windows + after }, (_, at) => {
    const isMissed = at >= CALM_WINDOWS && at < CALM_WINDOWS + windows;
    const set = chained(SERVICES, START_MS + at * WINDOW_MS);
    const outcome = decide(
      inputs(isMissed ? late(set, tailSeconds, throttledRatio) : set, state && { state }),
    );
    ({ state } = outcome);
    return outcome;
  });
}

const late = (set: WindowSet, tailSeconds: number, throttledRatio: number): WindowSet => ({
  ...set,
  windows: set.windows.map((each) => (each.service === "backend" ? throttled(each, throttledRatio) : each)),
  flows: set.flows.map((each) => ({
    ...each,
    latency: {
      ...each.latency,
      p50Seconds: tailSeconds / 3,
      p95Seconds: tailSeconds,
      p99Seconds: 1.2 * tailSeconds,
    },
  })),
});

const throttled = (each: Window, cpuThrottledRatio: number): Window => ({
  ...each,
  containers: each.containers.map((container) => ({ ...container, cpuThrottledRatio })),
});

const reasonOf = ({ plan }: PolicyOutcome) =>
  plan.policyReasons?.find((each) => each.code === "miss-unexplained");

describe("a miss that the models do not explain", () => {
  it("grows what is at its CPU limit from the second window on, and says what was measured and expected", () => {
    const [first, second] = missed({ throttledRatio: 0.75, windows: 2 }).slice(CALM_WINDOWS);
    expect(replicasOf(first!)).toBe(2);
    expect(reasonOf(first!)).toBeUndefined();
    expect(replicasOf(second!)).toBeGreaterThan(2);
    expect(wishOf(second!, "backend").reasons).toContainEqual({ code: "at-cpu-limit", throttledRatio: 0.75 });
    expect(reasonOf(second!)).toMatchObject({
      latencySeconds: 1.6,
      objectiveSeconds: 0.2,
      windows: 2,
      services: ["backend"],
    });
  });

  it("expects few of the requests over where many are", () => {
    const reason = reasonOf(missed({ throttledRatio: 0.75, windows: 2 }).at(-1)!);
    const { expectedRatio, overRatio } = reason as Extract<Reason, { code: "miss-unexplained" }>;
    expect(overRatio).toBeGreaterThan(0.3);
    expect(overRatio).toBeGreaterThan(4 * expectedRatio);
  });

  it("grows nothing that has CPU left, and says so", () => {
    const outcome = missed({ throttledRatio: 0.01, windows: 4 }).at(-1)!;
    expect(replicasOf(outcome)).toBe(2);
    expect(reasonOf(outcome)).toMatchObject({ windows: 4, services: [] });
  });

  it("is none where it is slight", () => {
    const outcome = missed({ throttledRatio: 0.75, windows: 4, tailSeconds: 0.22 }).at(-1)!;
    expect(reasonOf(outcome)).toBeUndefined();
  });

  it("makes misses dearer from the second window on: one may be chance", () => {
    const doubtedSince = (windows: number) =>
      missed({ throttledRatio: 0.9, windows }).at(-1)?.state.cost?.budgets[0]?.unexplainedMs;
    expect(doubtedSince(1)).toBeUndefined();
    expect(doubtedSince(2)).toBe(START_MS + (CALM_WINDOWS + 2) * WINDOW_MS);
  });

  it("keeps what has grown for as long as a decision stands, and no longer", () => {
    const standing = 300_000 / WINDOW_MS;
    const outcomes = missed({ throttledRatio: 0.75, windows: 2 }, standing + 2);
    const grown = replicasOf(outcomes[CALM_WINDOWS + 1]!);
    expect(replicasOf(outcomes[CALM_WINDOWS + 1 + standing]!)).toBe(grown);
    expect(replicasOf(outcomes.at(-1)!)).toBeLessThan(grown);
  });
});
