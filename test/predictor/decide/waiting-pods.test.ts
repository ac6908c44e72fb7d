import type { PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { describe, expect, it } from "vitest";
import { chained, RESIZABLE } from "./modelled.ts";
import { course, FRONTEND, last, made, replicasOf, wishOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

describe("policy auto while pods wait for room on a node", () => {
  const LOADED = [FRONTEND, made("backend", { replicas: 2, requestsPerSecond: 120 })];
  /** Of four replicas that are asked for two run. */
  const crowded: Change = (set) => ({
    ...set,
    windows: set.windows.map((each) =>
      each.service === "backend" ? { ...each, replicasWanted: 4, podsUnscheduled: 2 } : each,
    ),
  });
  const asked: Change = (set) => ({
    ...set,
    windows: set.windows.map((each) => (each.service === "backend" ? { ...each, replicasWanted: 4 } : each)),
  });

  it("goes on asking for those of them that are worth it, asks for no more, and says so", () => {
    const outcome = last(course(40, LOADED, crowded));
    const replicas = replicasOf(outcome);
    expect(replicas).toBeGreaterThan(2);
    expect(replicas).toBeLessThanOrEqual(4);
    expect(wishOf(outcome, "backend").reasons).toContainEqual({
      code: "pods-unscheduled",
      unscheduledPods: replicas - 2,
    });
  });

  it("counts on those that run alone, so that their CPU grows where sizes move", () => {
    const cores = (change: Change): number =>
      wishOf(last(course(6, LOADED, change, { application: RESIZABLE })), "backend").allocation.cpuCores ?? 1;
    expect(cores(crowded)).toBeGreaterThan(1);
    expect(cores(crowded)).toBeGreaterThan(cores(asked));
  });

  it("makes no container larger than its node has room for", () => {
    const cramped: Change = (set) => {
      const crowd = crowded(set, 0);
      return {
        ...crowd,
        windows: crowd.windows.map((each) => ({
          ...each,
          nodeRoomCores: 0.2,
          containers: each.containers.map((one) => ({ ...one, cpuRequestCores: 1 })),
        })),
      };
    };
    const outcome = last(course(6, LOADED, cramped, { application: RESIZABLE }));
    expect(wishOf(outcome, "backend").allocation.cpuCores ?? 1).toBeCloseTo(1.2);
  });

  describe("of a full service", () => {
    const at = (requestsPerSecond: number) => [
      made("frontend", { replicas: 1, cpuSecondsPerRequest: 0.0125, baseSeconds: 0.01, requestsPerSecond }),
      made("backend", { requestsPerSecond }),
    ];
    /** From the eighth window on the frontend is throttled all the time, and the second pod of it waits. */
    const full: Change = (set, number) => {
      const now = number < 8 ? set : chained(at(80), set.startMs);
      return {
        ...now,
        windows: now.windows.map((each) => ({
          ...each,
          ...(number >= 8 && each.service === "frontend" && { replicasWanted: 2, podsUnscheduled: 1 }),
          containers: each.containers.map((one) => ({
            ...one,
            cpuRequestCores: 1,
            cpuThrottledRatio: number >= 8 && each.service === "frontend" ? 1 : 0,
          })),
        })),
      };
    };
    /** Replicas of the frontend and of the backend, of which four pods of a core are 40 % busy. */
    const decided = (leftCores: number, change = full): PolicyOutcome => {
      const pods = [
        { service: "backend", pods: 4 },
        { service: "frontend", pods: 1 },
      ];
      return last(
        course(11, at(60), change, {
          allNodes: { cpuCores: 5 + leftCores, memoryBytes: 1e12 },
          nodes: [{ name: "n0", leftCores, takesPods: true, pods }],
        }),
      );
    };

    it("gives them the room of a service that has more than the load of now takes (full-cluster, seed 71002)", () => {
      const outcome = decided(0.5);
      expect(replicasOf(outcome, "frontend")).toBe(2);
      expect(replicasOf(outcome)).toBeLessThan(4);
      expect(replicasOf(outcome)).toBeGreaterThanOrEqual(2);
    });

    it("says which pods wait, and who gives them room", () => {
      const outcome = last(
        course(9, at(60), full, {
          allNodes: { cpuCores: 5, memoryBytes: 1e12 },
          nodes: [{ name: "n0", leftCores: 0, takesPods: true, pods: [] }],
        }),
      );
      expect(wishOf(outcome, "frontend").reasons).toContainEqual({
        code: "pods-unscheduled",
        unscheduledPods: 1,
      });
      expect(wishOf(outcome, "backend").reasons).toContainEqual({
        code: "room-traded",
        services: ["frontend"],
      });
    });

    it("takes nothing from others where a node has room for them: something else keeps them from it", () => {
      expect(replicasOf(decided(1.5))).toBeGreaterThanOrEqual(4);
    });

    it("takes nothing from others while traffic is missing", () => {
      const partly: Change = (set, number) => {
        const now = full(set, number);
        return number < 8
          ? now
          : { ...now, windows: now.windows.map((each) => ({ ...each, missing: "spans of a peer" })) };
      };
      expect(replicasOf(decided(0.5, partly))).toBeGreaterThanOrEqual(4);
    });
  });

  it("asks for them no more once the load is gone", () => {
    const quiet = [FRONTEND, made("backend", { replicas: 2, requestsPerSecond: 5 })];
    const outcomes = course(60, quiet, crowded);
    expect(replicasOf(last(outcomes))).toBeLessThan(4);
  });
});

describe("policy auto on full nodes", () => {
  const NAMES = ["frontend", "b", "c", "d", "e", "f"];
  /** One pod of a core each, 75 % busy. */
  const busy = NAMES.map((name) =>
    made(name, { replicas: 1, requestsPerSecond: 75, cpuSecondsPerRequest: 0.01, baseSeconds: 0.02 }),
  );
  const requesting: Change = (set) => ({
    ...set,
    windows: set.windows.map((each) => ({
      ...each,
      containers: each.containers.map((one) => ({ ...one, cpuRequestCores: 1 })),
    })),
  });
  const pods = NAMES.map((service) => ({ service, pods: 1 }));
  const decided = (options: Parameters<typeof course>[3]): number[] => {
    const outcome = last(
      course(8, busy, requesting, {
        allNodes: { cpuCores: 6, memoryBytes: 1e12 },
        nodes: [{ name: "n0", leftCores: 0, takesPods: true, pods }],
        ...options,
      }),
    );
    return NAMES.map((name) => replicasOf(outcome, name));
  };

  it("asks for no more than they have, unless an autoscaler can add some", () => {
    expect(decided({})).toEqual([1, 1, 1, 1, 1, 1]);
    expect(decided({ comingCores: 20 })).toEqual([2, 2, 2, 2, 2, 2]);
  });

  it("asks for what is worth most where few can come", () => {
    const replicas = decided({ comingCores: 2 });
    expect(replicas.reduce((sum, each) => sum + each, 0)).toBe(8);
  });

  it("asks for no replica that rules of its pods keep from all nodes, whatever CPU there is", () => {
    const roomy = { allNodes: { cpuCores: 100, memoryBytes: 1e12 } };
    const [frontend, ...others] = decided({ ...roomy, podsMore: { frontend: 0 } });
    expect(frontend).toBe(1);
    expect(Math.min(...others)).toBeGreaterThan(1);
    expect(decided(roomy)[0]).toBeGreaterThan(1);
  });
});
