import { describe, expect, it } from "vitest";
import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { application, flow, inputs, START_MS, WINDOW_MS } from "../measurements.ts";
import { made, replicasOf, wishOf } from "./decisions.ts";
import { chained } from "./modelled.ts";

const CALM = 16;
const APPLICATION = application({ objective: { milliseconds: 1_500, windowSeconds: 45 } });
const OBJECTIVE_WINDOWS = 3;

interface World {
  /** Requests per second of a window. */
  readonly load: (at: number) => number;
  /** Most requests per second that so many replicas let through. */
  readonly most: (replicas: number) => number;
  readonly windows: number;
}

const times = ({ count }: LatencySummary, seconds: number): LatencySummary => ({
  count,
  meanSeconds: seconds / 3,
  p50Seconds: seconds / 3,
  p95Seconds: seconds,
  p99Seconds: 1.5 * seconds,
});

/** A service whose requests wait for something without CPU; what is decided runs from the next window on. */
function worldOf({ load, most, windows }: World): PolicyOutcome[] {
  let state: PolicyInputs["state"] | undefined;
  let [replicas, waiting] = [1, 0];
  return Array.from({ length: windows }, (_, at) => {
    const arriving = load(at) * 15 + waiting;
    const answered = Math.min(arriving, most(replicas) * 15);
    waiting = arriving - answered;
    const perSecond = answered / 15;
    const seconds = 0.3 + waiting / most(replicas);
    const set = chained(
      [
        made("frontend", {
          replicas: 1,
          cpuSecondsPerRequest: 0.01,
          baseSeconds: 0.02,
          requestsPerSecond: perSecond,
        }),
        made("lock", {
          replicas,
          cpuSecondsPerRequest: 0.005,
          baseSeconds: 0.3,
          requestsPerSecond: perSecond,
        }),
      ],
      START_MS + at * WINDOW_MS,
    );
    const measured = {
      ...set,
      windows: set.windows.map((each) =>
        each.service === "lock"
          ? { ...each, ownLatency: times(each.ownLatency!, seconds) }
          : { ...each, beganPerSecond: load(at) },
      ),
      flows: set.flows.map((each) => ({
        ...each,
        requestsPerSecond: perSecond,
        latency: flow([], 0.02 + seconds).latency,
      })),
    };
    const outcome = decide(inputs(measured, { application: APPLICATION, ...(state && { state }) }));
    ({ state } = outcome);
    replicas = replicasOf(outcome, "lock");
    return outcome;
  });
}

/** Three times the load after a calm time. */
const stepped = (at: number): number => (at < CALM ? 2 : 6);
const codesOf = (outcome: PolicyOutcome) => wishOf(outcome, "lock").reasons?.map(({ code }) => code);

describe("replicas that are tried where a service waits for something else than its CPU", () => {
  const ownLock = worldOf({ load: stepped, most: (replicas) => 3 * replicas, windows: CALM + 40 });
  const oneDatabase = worldOf({ load: stepped, most: () => 3, windows: CALM + 20 });

  it("come within two windows of a clear miss, as many as its load takes if each has a queue of its own", () => {
    const trial = ownLock.slice(CALM).findIndex((each) => codesOf(each)?.includes("replicas-tried"));
    expect(trial).toBeLessThanOrEqual(OBJECTIVE_WINDOWS);
    expect(replicasOf(ownLock[CALM + trial]!, "lock")).toBe(3);
  });

  it("stay where they help, for the load that there is, and end the miss", () => {
    const end = ownLock.at(-1)!;
    expect(codesOf(end)).toContain("queue-per-replica");
    expect(replicasOf(end, "lock")).toBeGreaterThanOrEqual(3);
    expect(replicasOf(end, "lock")).toBeLessThanOrEqual(4);
    expect(end.plan.measuredLatencySeconds).toBeLessThan(0.5);
  });

  it("go where they do not help, and are not tried again soon", () => {
    const codes = oneDatabase.slice(CALM).map(codesOf);
    const tried = codes.findIndex((each) => each?.includes("replicas-tried"));
    const over = codes.findIndex((each) => each?.includes("replicas-no-help"));
    expect(tried).toBeGreaterThanOrEqual(0);
    expect(over).toBeGreaterThan(tried);
    expect(codes.slice(over).flat()).not.toContain("replicas-tried");
    expect(replicasOf(oneDatabase.at(-1)!, "lock")).toBeLessThanOrEqual(3);
  });

  it("are not kept for load that has gone", () => {
    const crowd = worldOf({
      load: (at) => (at < CALM || at >= CALM + 20 ? 2 : 6),
      most: (replicas) => 3 * replicas,
      windows: CALM + 60,
    });
    expect(replicasOf(crowd[CALM + 15]!, "lock")).toBeGreaterThanOrEqual(3);
    expect(replicasOf(crowd.at(-1)!, "lock")).toBeLessThanOrEqual(2);
  });

  it("are none while the objective is met, however long requests take there", () => {
    const slow = worldOf({ load: () => 2, most: () => 3, windows: CALM + 20 });
    expect(slow.flatMap(codesOf)).not.toContain("replicas-tried");
  });
});
