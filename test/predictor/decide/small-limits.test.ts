import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import type { ContainerWindow, FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { demandOf } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { application, flow, inputs, START_MS, window, WINDOW_MS } from "../measurements.ts";
import { replicasOf } from "./decisions.ts";

/**
 * podinfo on a real node: a frontend that calls a backend once a request, containers of 80 millicores, an objective of 50 ms. CPU a
 * request and throttled periods are as measured there; spans hold a seventh of that CPU and none of the wait for it.
 */
const LIMIT_CORES = 0.08;
const CPU = {
  frontend: { secondsPerRequest: 0.002, idleCores: 0.002_9 },
  backend: { secondsPerRequest: 0.000_8, idleCores: 0.003_2 },
} as const;
type Name = keyof typeof CPU;

const APPLICATION = application({
  objective: { milliseconds: 50, windowSeconds: 60 },
  services: [
    { name: "frontend", maxReplicas: 6 },
    { name: "backend", maxReplicas: 6 },
  ],
});

/** Share of throttled periods at a use of the limit: 33m 3 %, 42m 10 %, 60m 40 %, from 75m on nearly all. */
const throttledAt = (share: number): number => Math.min(0.99, 0.03 + 2.2 * Math.max(0, share - 0.41) ** 1.4);

function podinfo(name: Name, replicas: number, load: number, startMs: number): Window {
  const { idleCores, secondsPerRequest } = CPU[name];
  const asked = idleCores + (secondsPerRequest * load) / replicas;
  const use = Math.min(0.99 * LIMIT_CORES, asked);
  const isFull = asked >= LIMIT_CORES;
  const made = window({ service: name, replicas, rate: load, ownSeconds: isFull ? 0.02 : 0.000_4 }, startMs);
  const wait = isFull ? 0.3 : 0.001 + 0.03 * throttledAt(use / LIMIT_CORES);
  return {
    ...made,
    callees:
      name === "frontend"
        ? [{ callee: "backend", callsPerSecond: load, parallelRatio: 0, transitSeconds: wait }]
        : [],
    containers: Array.from({ length: replicas }, (_, pod): ContainerWindow => ({
      id: `${name}-${pod}`,
      podName: `${name}-${pod}`,
      cpuLimitCores: LIMIT_CORES,
      cpuRequestCores: 0.05,
      cpuUsageCores: use,
      cpuThrottledRatio: isFull ? 0.99 : throttledAt(use / LIMIT_CORES),
    })),
  };
}

interface Running {
  readonly frontend: number;
  readonly backend: number;
}

function windowsAt(load: number, running: Running, startMs: number): WindowSet {
  const windows = [
    podinfo("frontend", running.frontend, load, startMs),
    podinfo("backend", running.backend, load, startMs),
  ];
  const isFull = windows.some((each) =>
    mainContainers(each).some(({ cpuUsageCores = 0 }) => cpuUsageCores > 0.95 * LIMIT_CORES),
  );
  const through: FlowWindow = flow(["frontend", "backend"], isFull ? 0.4 : 0.005, {
    requestsPerSecond: load,
    entryService: "frontend",
    calls: [{ caller: "frontend", callee: "backend", callsPerRequest: 1, parallelRatio: 0 }],
  });
  return { startMs, endMs: startMs + WINDOW_MS, windows, flows: [through] };
}

const CALM_WINDOWS = 40;
const PEAK_WINDOWS = 8;

describe("containers of a few milliseconds of CPU a period, after ten minutes of flat calm (podinfo)", () => {
  const outcomes: PolicyOutcome[] = [];

  beforeAll(() => {
    let state: PolicyInputs["state"] | undefined;
    let running: Running = { frontend: 1, backend: 1 };
    for (let at = 0; at < CALM_WINDOWS + PEAK_WINDOWS; at += 1) {
      const set = windowsAt(at < CALM_WINDOWS ? 15.5 : 62, running, START_MS + at * WINDOW_MS);
      const outcome = decide(inputs(set, { application: APPLICATION, ...(state && { state }) }));
      ({ state } = outcome);
      outcomes.push(outcome);
      running = { frontend: replicasOf(outcome, "frontend"), backend: replicasOf(outcome, "backend") };
    }
  });

  it.each(["frontend", "backend"] as const)("still have %s's CPU a request known within 20 %%", (name) => {
    const services = outcomes[CALM_WINDOWS - 1]?.state.cost?.services ?? [];
    const known = services.find(({ service }) => service === name);
    const { cpuSecondsPerRequest = 0, housekeepingCores = 1 } = (known && demandOf(known.profile)) ?? {};
    expect(Math.abs(cpuSecondsPerRequest / CPU[name].secondsPerRequest - 1)).toBeLessThan(0.2);
    expect(housekeepingCores).toBeLessThan(0.006);
  });

  it("are four and two or more from the second window of four times the load to its end", () => {
    for (const outcome of outcomes.slice(CALM_WINDOWS + 1)) {
      expect(replicasOf(outcome, "frontend")).toBeGreaterThanOrEqual(4);
      expect(replicasOf(outcome, "backend")).toBeGreaterThanOrEqual(2);
    }
  });

  it("are no more than two and one in the calm", () => {
    const calm = outcomes[CALM_WINDOWS - 1]!;
    expect(replicasOf(calm, "frontend")).toBeLessThanOrEqual(2);
    expect(replicasOf(calm, "backend")).toBe(1);
  });
});
