import { describe, expect, it } from "vitest";
import { hasAmpleCpu, isIdle } from "@tradewind/predictor/policy/observe/bottleneck.ts";
import type { Observation } from "@tradewind/predictor/policy/observe/observation.ts";
import { PolicySettings } from "@tradewind/predictor/policy/settings.ts";

const SETTINGS = PolicySettings.parse({});

function observation(
  utilisation: number | undefined,
  throttledRatio: number,
  ownRequests = 0.1,
): Observation {
  return {
    ...(utilisation !== undefined && { utilisation }),
    demand: {
      cores: 0.1,
      arrivingCores: 0.1,
      podCapacityCores: 1,
      podsMeasured: 2,
      throttledRatio,
      backlog: 0,
    },
    queue: { ownRequests },
    readyReplicas: 2,
  } as unknown as Observation;
}

describe("what a larger limit cannot help", () => {
  it("is a container that is never throttled and uses a tenth of its CPU", () => {
    expect(hasAmpleCpu(observation(0.1, 0))).toBe(true);
  });

  it.each([
    ["is throttled, however little it uses", observation(0.1, 0.1)],
    ["uses a good part of its CPU", observation(0.4, 0)],
    ["is not measured", observation(undefined, 0)],
  ])("is not one that %s", (_name, one) => {
    expect(hasAmpleCpu(one)).toBe(false);
  });
});

describe("an idle service", () => {
  it("uses little CPU and queues nothing", () => {
    expect(isIdle(observation(0.1, 0), SETTINGS)).toBe(true);
    expect(isIdle(observation(0.1, 0, 3), SETTINGS)).toBe(false);
    expect(isIdle(observation(0.5, 0), SETTINGS)).toBe(false);
  });
});
