import { describe, expect, it } from "vitest";
import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import type { PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { application, flow } from "../measurements.ts";
import { course, made, replicasOf, wishOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

const CALM = 16;
const SERVICES = [
  made("frontend", { replicas: 2, cpuSecondsPerRequest: 0.002, baseSeconds: 0.02, requestsPerSecond: 3 }),
  made("lock", { replicas: 2, cpuSecondsPerRequest: 0.005, baseSeconds: 0.6, requestsPerSecond: 3 }),
  made("idle", { replicas: 2, cpuSecondsPerRequest: 0.005, baseSeconds: 0.1, requestsPerSecond: 3 }),
];
const APPLICATION = application({ objective: { milliseconds: 1_500, windowSeconds: 45 } });

const slower = (latency: LatencySummary, factor: number): LatencySummary => ({
  count: latency.count,
  meanSeconds: factor * latency.meanSeconds,
  p50Seconds: factor * latency.p50Seconds,
  p95Seconds: factor * latency.p95Seconds,
  p99Seconds: factor * latency.p99Seconds,
});

/** After a calm time requests queue for a lock in one service, whose CPU stays as idle as it was: ever longer, up to so many times. */
const queueing =
  (most: number): Change =>
  (set, at) => {
    const factor = Math.min(most, at < CALM ? 1 : 2 * (at - CALM + 1));
    const windows = set.windows.map((each) =>
      each.service === "lock" ? { ...each, ownLatency: slower(each.ownLatency!, factor) } : each,
    );
    const tail = 0.12 + 0.6 * factor;
    return {
      ...set,
      windows,
      flows: set.flows.map((each) => ({ ...each, latency: flow([], tail).latency })),
    };
  };
const missing = (outcomes: readonly PolicyOutcome[]): readonly PolicyOutcome[] => outcomes.slice(CALM + 4);

describe("a miss while requests wait in a service for something else than its CPU", () => {
  const outcomes = course(34, SERVICES, queueing(30), { application: APPLICATION });

  it("takes nothing of that service, also once its new times are learnt, and says why", () => {
    for (const outcome of missing(outcomes)) {
      expect(outcome.plan.policy).toBe("planner-prior");
      expect(replicasOf(outcome, "lock")).toBeGreaterThanOrEqual(2);
    }
    const first = wishOf(outcomes[CALM + 1]!, "lock");
    expect(first.reasons?.map(({ code }) => code)).toEqual(
      expect.arrayContaining(["measured", "held-up", "replicas"]),
    );
    expect(first.reason).toMatch(
      /; takes \d+\.\d times as long as while the objective was met, at \d+ % CPU use/,
    );
  });

  it("buys nothing for it but replicas to try, whatever models expect of more, nor what they expect hardly any effect of", () => {
    const { whatIf } = outcomes.at(-1)!;
    for (const service of ["idle", "frontend"]) {
      const more = whatIf!.resized(service, { resource: "replicas", steps: 1 })!;
      expect(more.tailAfterSeconds / more.tailBeforeSeconds).toBeGreaterThan(0.9);
    }
    for (const service of ["idle", "frontend"])
      expect(replicasOf(outcomes.at(-1)!, service)).toBeLessThanOrEqual(2);
    const lock = wishOf(outcomes.at(-1)!, "lock");
    expect(lock.reasons).toContainEqual(
      expect.objectContaining({ code: "replicas-tried", replicas: lock.allocation.replicas }),
    );
    expect(replicasOf(outcomes.at(-1)!, "idle")).toBe(1);
  });

  it("holds nothing once the objective is met again", () => {
    const after: Change = (set, at) => queueing(at < 24 ? 30 : 1)(set, at);
    const calm = course(60, SERVICES, after, { application: APPLICATION }).at(-1)!;
    expect(wishOf(calm, "lock").reasons).not.toContainEqual(expect.objectContaining({ code: "held-up" }));
    expect(replicasOf(calm, "lock")).toBe(1);
  });
});
