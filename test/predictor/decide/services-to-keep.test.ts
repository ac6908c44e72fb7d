import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { describe, expect, it } from "vitest";
import { application, inputs, START_MS, window, WINDOW_MS } from "../measurements.ts";
import { chained } from "./modelled.ts";
import { course, FRONTEND, last, made, replicasOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

describe("requests that fail", () => {
  const IDLE = [FRONTEND, made("backend", { replicas: 8, requestsPerSecond: 10 })];

  /** A fifth of the requests fails from the tenth window on; a third service has no pod. */
  const failing =
    (waiting: number): Change =>
    (set, at) => ({
      ...set,
      windows: [
        ...set.windows,
        {
          ...window({ service: "profile", replicas: 0, wanted: 2 }, START_MS + at * WINDOW_MS),
          podsUnscheduled: waiting,
        },
      ],
      flows: set.flows.map((each) => (at < 10 ? each : { ...each, errorRatio: 0.2 })),
    });

  it("keep their services as large as they are", () => {
    const outcomes = course(20, IDLE, failing(0));
    expect(replicasOf(last(outcomes))).toBeGreaterThanOrEqual(8);
  });

  it("do not, while a service has no pod for want of room: what the others have left is that room (no-limits-full)", () => {
    const outcomes = course(20, IDLE, failing(2));
    expect(replicasOf(last(outcomes))).toBeLessThan(4);
  });
});

describe("replicas that do not serve yet", () => {
  /** Asked of one container, window by window; what is asked for does not start. */
  const asked = (loads: readonly number[], objectiveMs: number): number[] => {
    const calm = Array.from({ length: 20 }, () => 20);
    let state: PolicyInputs["state"] | undefined;
    const replicas = [...calm, ...loads].map((requestsPerSecond, at) => {
      const services = [FRONTEND, made("backend", { replicas: 1, requestsPerSecond })];
      const set = chained(
        services.map((each) => ({ ...each, requestsPerSecond })),
        START_MS + at * WINDOW_MS,
      );
      const objective = { objective: { milliseconds: objectiveMs } };
      const taken = { application: application(objective), ...(state && { state }) };
      const outcome = decide(inputs(set, taken));
      ({ state } = outcome);
      return replicasOf(outcome);
    });
    return replicas.slice(calm.length);
  };

  it("are not given up while their route misses, though less of them would do by the load of now (warm-up)", () => {
    const [first = 0, ...later] = asked([90, 46, 46, 46], 150);
    expect(first).toBeGreaterThan(2);
    for (const replicas of later) expect(replicas).toBeGreaterThanOrEqual(first);
  });
});

describe("a route that always misses through a service without a workload", () => {
  const THREE = [
    FRONTEND,
    made("gateway", { replicas: 2, cpuSecondsPerRequest: 0.001, baseSeconds: 0.25 }),
    made("backend", { replicas: 8, cpuSecondsPerRequest: 0.005 }),
  ];
  /** A virtual machine: its requests are seen, and no workload of it is known. */
  const outside: Change = (set) => ({
    ...set,
    windows: set.windows.map((each) => {
      if (each.service !== "gateway") return each;
      const { replicasReady: _, replicasWanted: __, ...rest } = each;
      return { ...rest, containers: [] };
    }),
  });

  it("lets go of what does not help, as one through services of the cluster does", () => {
    expect(replicasOf(last(course(12, THREE)))).toBeLessThan(4);
    expect(replicasOf(last(course(12, THREE, outside)))).toBeLessThan(4);
  });

  it("does not take it back once the model of the route hardly errs (keep-known-miss)", () => {
    const outcomes = course(30, THREE, outside).slice(12);
    for (const outcome of outcomes) expect(replicasOf(outcome)).toBeLessThan(4);
  });
});
