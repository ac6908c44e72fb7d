import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { describe, expect, it } from "vitest";
import { application, flow, inputs, START_MS, window, WINDOW_MS, windowSet } from "../measurements.ts";
import { chained, RESIZABLE } from "./modelled.ts";
import type { ModelledService } from "./modelled.ts";

/** Decisions on one window after the other, carrying the state. */
function run(sets: readonly WindowSet[], overrides: Partial<PolicyInputs> = {}): PolicyOutcome[] {
  let state: PolicyInputs["state"] | undefined;
  return sets.map((set) => {
    const outcome = decide(inputs(set, { ...overrides, ...(state && { state }) }));
    ({ state } = outcome);
    return outcome;
  });
}

const wishOf = ({ plan }: PolicyOutcome | undefined = {} as PolicyOutcome, service = "search"): Wish =>
  plan.wishes.find((one) => one.service === service)!;

const backend: ModelledService = {
  service: "backend",
  replicas: 4,
  cores: 1,
  cpuSecondsPerRequest: 0.02,
  baseSeconds: 0.03,
  requestsPerSecond: 20,
  memoryBytes: 512e6,
  usedBytes: 100e6,
};
const frontend = {
  ...backend,
  service: "frontend",
  replicas: 1,
  cpuSecondsPerRequest: 0.005,
  baseSeconds: 0.01,
};
const shop = (count: number, services: readonly ModelledService[] = [frontend, backend]): WindowSet[] =>
  Array.from({ length: count }, (_, at) => chained(services, START_MS + at * WINDOW_MS));

/** 2 pods of 1 core that use so much each. */
function using(cores: number, at = 0, changes: object = {}): WindowSet {
  const startMs = START_MS + at * WINDOW_MS;
  const measured = window({ service: "search", replicas: 2, podUsageCores: cores }, startMs);
  const containers = measured.containers.map((each) => Object.assign({}, each, changes));
  return windowSet([{ ...measured, containers }], []);
}

describe("a container's size where nothing is said of resizing", () => {
  it("is advised by its use at 65 % and left out of the allocation, at every policy level", () => {
    const memory = { memoryWorkingSetBytes: 100e6 };
    for (const choice of ["auto", "queue", "static"] as const) {
      const wish = wishOf(run([using(0.13, 0, memory)], { choice }).at(-1));
      expect(wish.allocation).toEqual({ replicas: 2 });
      expect(wish.advice).toEqual({ cpuCores: 0.2, memoryBytes: 130e6 });
    }
  });

  it("is advised where containers have neither request nor limit", () => {
    const free = { cpuLimitCores: undefined };
    expect(wishOf(run([using(0.13, 0, free)]).at(-1)).advice).toEqual({ cpuCores: 0.2 });
  });

  it("is not advised where its use is not known", () => {
    const unmeasured = { cpuUsageCores: undefined };
    expect(wishOf(run([using(0.13, 0, unmeasured)]).at(-1)).advice).toBeUndefined();
  });

  it("stays for a while after a peak, and is half after an hour of no use", () => {
    const hour = 3_600_000 / WINDOW_MS;
    const quiet = Array.from({ length: hour }, (_, at) => using(0.001, at + 1));
    const outcomes = run([using(0.52), ...quiet]);
    expect(wishOf(outcomes[0]).advice?.cpuCores).toBe(0.8);
    expect(wishOf(outcomes[1]).advice?.cpuCores).toBe(0.8);
    expect(wishOf(outcomes.at(-1)).advice?.cpuCores).toBe(0.4);
  });

  it("is within the bounds of the service", () => {
    const bounded = application({
      services: [{ name: "search", cpu: { minCores: 0.5 }, memory: { maxBytes: 100e6 } }],
    });
    const wish = wishOf(
      run([using(0.13, 0, { memoryWorkingSetBytes: 100e6 })], { application: bounded }).at(-1),
    );
    expect(wish.advice).toEqual({ cpuCores: 0.5, memoryBytes: 100e6 });
  });
});

describe("advice by calibrated models", () => {
  it("leaves the replicas as they are for containers that cannot be resized", () => {
    const resizable = run(shop(40), { application: RESIZABLE }).at(-1);
    const fixed = run(shop(40)).at(-1);
    const wish = wishOf(fixed, "backend");
    expect(wish.policy).toBe("planner-prior");
    expect(wish.allocation).toEqual({ replicas: wish.allocation.replicas });
    expect(wish.allocation.replicas * 1).toBeGreaterThanOrEqual((20 * 0.02) / 0.95);
    expect(wishOf(resizable, "backend").allocation.cpuCores).toBeDefined();
  });

  it("is less CPU than an idle container has, and more than its load takes", () => {
    const wish = wishOf(run(shop(40, [frontend, { ...backend, requestsPerSecond: 4 }])).at(-1), "backend");
    const { replicas } = wish.allocation;
    expect(wish.advice!.cpuCores).toBeLessThan(1);
    expect(wish.advice!.cpuCores! * replicas).toBeGreaterThan(4 * 0.02);
  });

  it("is more CPU where that is what the objective lacks and no replica may be added", () => {
    const small = { ...backend, replicas: 1, cores: 0.5, requestsPerSecond: 22 };
    const one = application({ services: [{ name: "backend", maxReplicas: 1 }] });
    const wish = wishOf(run(shop(40, [frontend, small]), { application: one }).at(-1), "backend");
    expect(wish.allocation).toEqual({ replicas: 1 });
    expect(wish.advice!.cpuCores).toBeGreaterThan(0.5);
  });

  it("is what runs where the size may be moved and is left alone", () => {
    const only = { minCores: 1, maxCores: 1, stepCores: 1 };
    const still = application({ resize: "limits", services: [{ name: "frontend", cpu: only }] });
    const wish = wishOf(run(shop(4), { application: still }).at(-1), "frontend");
    expect(wish.policy).toBe("planner-prior");
    expect(wish.allocation.cpuCores).toBeUndefined();
    expect(wish.advice?.cpuCores).toBe(1);
  });
});

describe("a larger size that the platform does not give", () => {
  const small = { ...backend, replicas: 1, cores: 0.5, requestsPerSecond: 22 };
  const limited = application({ resize: "limits", services: [{ name: "backend", maxReplicas: 1 }] });
  const decided = (windows: readonly ModelledService[]): readonly Wish[] => {
    const sets = windows.map((each, at) => chained([frontend, each], START_MS + at * WINDOW_MS));
    return run(sets, { application: limited }).map((outcome) => wishOf(outcome, "backend"));
  };
  const often = (count: number): ModelledService[] => Array.from({ length: count }, () => small);

  it("is counted on for 5 minutes, then advised for an hour, and then wished again", () => {
    const wishes = decided(often(300));
    const isWished = wishes.map(({ allocation }) => (allocation.cpuCores ?? 0) > 0.5);
    const first = isWished.indexOf(true);
    expect(first).toBeLessThan(5);
    expect(isWished.slice(first, first + 20)).not.toContain(false);
    expect(isWished.slice(first + 22, first + 255)).not.toContain(true);
    expect(wishes[first + 25]!.allocation.replicas).toBe(1);
    expect(wishes[first + 25]!.advice!.cpuCores).toBeGreaterThan(0.5);
    expect(isWished.slice(first + 265, first + 280)).not.toContain(false);
  });

  it("counts again as soon as the size changes", () => {
    const [moved] = decided([...often(30), { ...small, cores: 0.6 }]).slice(-1);
    expect(moved!.allocation.cpuCores).toBeGreaterThan(0.6);
  });
});

it("advice does not count as a change: a route of few calls goes on being judged by the windows before", () => {
  const few = (at: number): WindowSet => {
    const set = using(0.1, at);
    const route = flow(["search"], 0.05, { entryService: "frontend" });
    return { ...set, flows: [{ ...route, latency: { ...route.latency, count: 3 } }] };
  };
  const [, last] = run([few(0), few(1)]);
  expect(last!.state.flows?.[0]?.latencies).toHaveLength(2);
});
