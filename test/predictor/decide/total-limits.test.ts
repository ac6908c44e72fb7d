import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { fitNodes } from "@tradewind/predictor/decide/cost/solve/fit-nodes.ts";
import { Totals } from "@tradewind/predictor/decide/cost/solve/limits.ts";
import { cheapest } from "@tradewind/predictor/decide/cost/solve/cheapest.ts";
import type { ServiceToSize } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { describe, expect, it } from "vitest";
import { course, last, made, replicasOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";
import { chain, service, size } from "./priced.ts";

const NAMES = ["frontend", "b", "c", "d", "e", "f"];

/** Six services of so many pods with a limit of a core each, which use 0.75 cores together. */
const six = (replicas: number) =>
  NAMES.map((name) =>
    made(name, { replicas, requestsPerSecond: 75, cpuSecondsPerRequest: 0.01, baseSeconds: 0.02 }),
  );

const requesting =
  (cpuRequestCores: number): Change =>
  (set) => ({
    ...set,
    windows: set.windows.map((each) => ({
      ...each,
      containers: each.containers.map((one) => ({ ...one, cpuRequestCores })),
    })),
  });

/** Replicas of the six services after eight windows. */
function decided(replicas: number, change: Change, overrides: Partial<PolicyInputs>): number[] {
  const outcome = last(course(8, six(replicas), change, overrides));
  expect(outcome.plan.policy).toMatch(/^planner/);
  return NAMES.map((name) => replicasOf(outcome, name));
}

const cores = (cpuCores: number): Partial<PolicyInputs> => ({ allNodes: { cpuCores, memoryBytes: 32e9 } });
const lost = (set: WindowSet): WindowSet => ({
  ...set,
  windows: set.windows.map((each) => ({ ...each, missing: "spans of a peer" })),
});

describe("the CPU of all nodes", () => {
  const lower = requesting(0.1);

  it.each([8, 5])("of %i cores takes 12 pods of a core each that request 1.2 cores", (cpuCores) => {
    expect(decided(2, lower, cores(cpuCores))).toEqual(decided(2, lower, {}));
  });

  it("takes nothing away while traffic is missing", () => {
    const partly: Change = (set, at) => (at < 5 ? lower(set, at) : lost(lower(set, at)));
    for (const replicas of decided(2, partly, cores(5))) expect(replicas).toBeGreaterThanOrEqual(2);
  });

  it("lets services grow whose limits are more than there is, and whose requests are not", () => {
    const free = decided(1, lower, {});
    expect(free).toEqual([2, 2, 2, 2, 2, 2]);
    expect(decided(1, lower, cores(6))).toEqual(free);
  });

  /** Cordoned nodes count for nothing, while the pods on them run. */
  it("lets pods stay that request more than the nodes have which take pods, and starts no more", () => {
    const whole = requesting(1);
    const careful = { settings: PolicySettings.parse({ cost: { worth: 0.5, network: false } }) };
    expect(decided(2, whole, { ...cores(4), ...careful })).toEqual([2, 2, 2, 2, 2, 2]);
    expect(decided(1, whole, cores(4))).toEqual([1, 1, 1, 1, 1, 1]);
  });
});

/** Pods that run on nodes, each with a core of which a share is requested, and 0.1 cores of a sidecar. */
const running = (name: string, taken: number, overrides: Partial<ServiceToSize> = {}): ServiceToSize =>
  service(name, {
    base: size(taken),
    runningCores: 1,
    pods: { taken, requestRatio: 0.5, sidecarCores: 0.1 },
    ...overrides,
  });

/** Neither requests nor limits, and no model: it costs nothing and is sized by nobody. */
const bare = (taken: number, replicas = taken): ServiceToSize => {
  const { own: _, ...each } = running("zoo", taken, { pods: { taken, requestRatio: 1, sidecarCores: 0 } });
  return { ...each, base: size(replicas, 0), runningCores: 0, floor: size(1, 0), ceiling: size(replicas, 0) };
};

describe("the limits of the application as a whole", () => {
  it("count what pods request, sidecars included", () => {
    const totals = new Totals(chain([running("a", 2)]), { cpuCores: 1.8 });
    expect(totals.isKept).toBe(true);
    expect(totals.allows(0, size(2), size(3))).toBe(true);
    totals.change(0, size(2), size(3));
    expect(totals.allows(0, size(3), size(3, 1.1))).toBe(false);
  });

  it("give up replicas that no node has taken before any that run", () => {
    // Of "a" two replicas run and two are asked for; those of "b" cost as much and help less.
    const services = [running("a", 2, { base: size(4) }), running("b", 4, { requestsPerSecond: 1 })];
    const held = services.map((each) => ({ ...each, floor: each.base }));
    const cost = cheapest(
      () => chain(held),
      held.map(({ base }) => base),
      { cpuCores: 3.6 },
      100,
    );
    expect([0, 1].map((at) => cost.sizeOf(at).replicas)).toEqual([2, 4]);
  });

  it("take pods that run where the budget of pods is smaller", () => {
    const services = [running("a", 4), running("b", 4)];
    const cost = cheapest(
      () => chain(services),
      services.map(({ base }) => base),
      { pods: 5 },
      100,
    );
    expect(cost.sizeOf(0).replicas + cost.sizeOf(1).replicas).toBeLessThanOrEqual(5);
  });

  it("take nothing from a service without requests for CPU that others ask for", () => {
    // Two more replicas of "a" are asked for than there is CPU.
    const services = [running("a", 1, { base: size(3), floor: size(3) }), bare(5)];
    const cost = cheapest(
      () => chain(services),
      services.map(({ base }) => base),
      { cpuCores: 0.7 },
      100,
    );
    expect([0, 1].map((at) => cost.sizeOf(at).replicas)).toEqual([1, 5]);
  });

  it("take pods without requests for a budget of pods, and those that cost least first", () => {
    const services = [running("a", 4, { floor: size(4) }), bare(5)];
    const cost = cheapest(
      () => chain(services),
      services.map(({ base }) => base),
      { pods: 6 },
      100,
    );
    expect([0, 1].map((at) => cost.sizeOf(at).replicas)).toEqual([4, 2]);
  });

  it("take back growth that a node has no room for, and no pod that requests nothing there", () => {
    const grown = running("a", 1, { stepCpuCores: 0.1, ceiling: size(6, 2) });
    const cost = chain([grown, bare(1, 5)]);
    cost.set(0, size(1, 1.4));
    const pods = [
      { service: "a", pods: 1 },
      { service: "zoo", pods: 1 },
    ];
    fitNodes(cost, { nodes: [{ name: "n0", leftCores: 0.1, takesPods: true, pods }] });
    expect(cost.sizeOf(0).cpuCores).toBeCloseTo(1.2, 9);
    expect(cost.sizeOf(1).replicas).toBe(5);
  });
});

it("a service without requests and limits keeps its replicas where the CPU of all nodes is short", () => {
  const bareZoo: Change = (set) => ({
    ...set,
    windows: requesting(1)(set, 0).windows.map((each) =>
      each.service === "zoo"
        ? {
            ...each,
            containers: each.containers.map(({ id, podName, cpuUsageCores }) =>
              Object.assign({ id }, podName && { podName }, cpuUsageCores && { cpuUsageCores }),
            ),
          }
        : each,
    ),
  });
  const services = [
    made("frontend", { replicas: 1, cpuSecondsPerRequest: 0.005, baseSeconds: 0.01 }),
    made("backend", { replicas: 6, cpuSecondsPerRequest: 0.11 }),
    made("zoo", { replicas: 5, cpuSecondsPerRequest: 0.01 }),
  ];
  const outcome = last(course(6, services, bareZoo, cores(5)));
  expect(replicasOf(outcome, "zoo")).toBe(5);
});

describe("pods that an autoscaler is still to stop", () => {
  const totals = (isTraded: boolean): Totals => {
    const stopping = service("a", { base: size(1), pods: { taken: 2, requestRatio: 1, sidecarCores: 0 } });
    const growing = service("b", { base: size(1), pods: { taken: 1, requestRatio: 1, sidecarCores: 0 } });
    return new Totals(chain([stopping, growing]), { cpuCores: 3, isTraded });
  };

  it("keep their CPU from others until they stop", () => {
    expect(totals(false).allows(1, size(1), size(2))).toBe(false);
    expect(totals(false).allows(0, size(1), size(2))).toBe(true);
  });

  it("leave it to others where pods are traded", () => {
    expect(totals(true).allows(1, size(1), size(2))).toBe(true);
  });
});
