import type { FlowWindow } from "@tradewind/core/contract/window.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { describe, expect, it } from "vitest";
import { application } from "../measurements.ts";
import { modelledWindow, RESIZABLE } from "./modelled.ts";
import { course, FRONTEND, last, made, replicasOf, SHOP, unchanged, wishOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

/** Reads 40 messages a second from a queue, which take two cores of its four. */
const MAILER = made("mailer", {
  replicas: 4,
  requestsPerSecond: 40,
  cpuSecondsPerRequest: 0.05,
  baseSeconds: 0.1,
});

/** The consumer beside the shop; in the traces of requests, where nobody waits for it, or in none. */
const consuming =
  (isInTraces: boolean, overrides: Partial<typeof MAILER> = {}, throttledRatio = 0): Change =>
  (set) => {
    const mailer = modelledWindow({ ...MAILER, ...overrides }, set.startMs);
    const containers = mailer.containers.map((one) => ({ ...one, cpuThrottledRatio: throttledRatio }));
    const joined = (flow: FlowWindow): FlowWindow => ({ ...flow, services: [...flow.services, "mailer"] });
    return {
      ...set,
      windows: [...set.windows, { ...mailer, containers }],
      flows: isInTraces ? set.flows.map((each) => joined(each)) : set.flows,
    };
  };

const sizesIn = ({ plan }: PolicyOutcome) =>
  plan.wishes.map(({ allocation, service }) => ({ service, ...allocation }));

describe("a consumer of messages in the traces of requests, which nobody waits for", () => {
  it.each([
    ["replicas", {}],
    ["sizes", { application: RESIZABLE }],
  ] satisfies [string, Partial<PolicyInputs>][])(
    "follows its own CPU demand where %s move, as one in no trace does",
    (_, overrides) => {
      const outcome = last(course(8, SHOP, consuming(true), overrides));
      expect(outcome.plan.policy).toBe("planner-prior");
      expect(wishOf(outcome, "mailer")).toMatchObject({ policy: "reactive", allocation: { replicas: 4 } });
      expect(sizesIn(outcome)).toEqual(sizesIn(last(course(8, SHOP, consuming(false), overrides))));
    },
  );

  it("says nothing of the load of others when it is full", () => {
    const full = { replicas: 2 };
    const before = consuming(true, { ...full, requestsPerSecond: 10 });
    const surge = consuming(true, full, 0.9);
    const shop = [FRONTEND, made("backend", { cpuSecondsPerRequest: 0.05 })];
    const outcome = last(course(8, shop, (set, at) => (at < 5 ? before : surge)(set, at)));
    expect(replicasOf(outcome, "mailer")).toBeGreaterThan(2);
    const calm = last(course(8, shop, before));
    expect(replicasOf(outcome)).toBe(replicasOf(calm));
    expect(outcome.plan.policyReasons).toEqual(calm.plan.policyReasons);
  });

  it("gets no replica for a route that misses its objective, which queue balancing gives to those on it", () => {
    const late = [FRONTEND, made("backend", { cpuSecondsPerRequest: 0.05, baseSeconds: 0.4 })];
    const busy = { baseSeconds: 0.4 };
    const outcome = (isInTraces: boolean) =>
      last(course(6, late, consuming(isInTraces, busy), { choice: "queue" }));
    expect(outcome(true).plan.policy).toBe("queue");
    expect(replicasOf(outcome(true))).toBeGreaterThan(4);
    expect(sizesIn(outcome(true))).toEqual(sizesIn(outcome(false)));
  });
});

it("a service behind one of another namespace, where no route can be followed, keeps the CPU that it uses", () => {
  const three = [FRONTEND, made("gateway"), made("backend", { cpuSecondsPerRequest: 0.05 })];
  const foreign: Change = (set) => ({
    ...set,
    windows: set.windows.map((each) => (each.service === "gateway" ? { ...each, namespace: "edge" } : each)),
  });
  const outcome = last(course(8, three, foreign, { application: RESIZABLE }));
  expect(wishOf(outcome, "frontend").policy).toBe("planner-prior");
  expect(wishOf(outcome, "backend")).toMatchObject({ policy: "reactive", allocation: { replicas: 4 } });
});

it("movable containers keep the CPU that the load asks for at 95 % of it, though the objective would be met with less", () => {
  const loose = application({ resize: "limits", objective: { milliseconds: 20_000, windowSeconds: 45 } });
  const outcome = last(course(30, SHOP, unchanged, { application: loose }));
  const { cpuCores = 1, replicas } = wishOf(outcome, "backend").allocation;
  // 40 requests of 20 ms a second.
  expect(replicas * cpuCores).toBeGreaterThanOrEqual(0.8 / 0.95);
  expect(replicas * cpuCores).toBeLessThan(1.2);
});
