import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { Shadow } from "@tradewind/predictor/answers/shadow/shadow.ts";
import { emptyShadow, ShadowState } from "@tradewind/predictor/answers/shadow/state.ts";
import { registerShadow } from "@tradewind/predictor/answers/shadow/metrics.ts";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { chained } from "../../decide/modelled.ts";
import { application, inputs, START_MS, WINDOW_MS } from "../../measurements.ts";

const ALWAYS = [0, Number.MAX_SAFE_INTEGER] as const;
const HOUR_MS = 3_600_000;

interface Told {
  readonly replicas: number;
  readonly requestsPerSecond: number;
  readonly windows: number;
  /** Of the backend. */
  readonly hpa?: object;
  readonly hasModels?: boolean;
  readonly kept?: ShadowState[];
  readonly restored?: ShadowState;
}

/** A shop of which a shadow is told every window: the backend uses 20 ms of CPU a request, of 1 core that a pod has. */
function told({
  hasModels = true,
  hpa,
  kept = [],
  replicas,
  requestsPerSecond,
  restored,
  windows,
}: Told): Shadow {
  const services = [
    { service: "frontend", replicas: 1, cores: 1, cpuSecondsPerRequest: 0.005, baseSeconds: 0.01 },
    { service: "backend", replicas, cores: 1, cpuSecondsPerRequest: 0.02, baseSeconds: 0.03 },
  ].map((each) => Object.assign(each, { requestsPerSecond }));
  const ours = application({ services: [{ name: "backend", ...(hpa && { hpa }) }] });
  const empty = emptyShadow(ours.name, ours.namespace);
  const shadow = new Shadow(restored ?? empty, (state) => void kept.push(state));
  let outcome: PolicyOutcome | undefined;
  for (let at = 0; at < windows; at += 1) {
    const windowSet = chained(services, START_MS + at * WINDOW_MS);
    outcome = decide(inputs(windowSet, { application: ours, ...(outcome && { state: outcome.state }) }));
    const models = hasModels ? outcome.whatIf : undefined;
    shadow.adopt({ application: ours, windowSet, models, startSeconds: 30, isResized: false });
  }
  return shadow;
}

const replicasOf = ({ state }: Shadow, name: string): readonly number[] | undefined =>
  state.services.find(({ service }) => service === name)?.replicas;

describe("the HPA before as a shadow", () => {
  it("asks for 2 replicas where 40 requests/s use 0.8 cores of pods that request 1, at its usual 60 %", () => {
    const shadow = told({ replicas: 8, requestsPerSecond: 40, windows: 60 });
    expect(replicasOf(shadow, "backend")?.[1]).toBe(2);
    expect(replicasOf(shadow, "frontend")).toEqual([1, 1, 1]);
  });

  it("keeps what runs for the five minutes in which an HPA does not scale down", () => {
    expect(replicasOf(told({ replicas: 8, requestsPerSecond: 40, windows: 15 }), "backend")).toEqual([
      8, 8, 8,
    ]);
  });

  it("takes target, bounds and behavior from the HPA that there was", () => {
    const hpa = {
      cpuPercent: 20,
      maxReplicas: 3,
      behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
    };
    const shadow = told({ replicas: 8, requestsPerSecond: 40, windows: 2, hpa });
    expect(replicasOf(shadow, "backend")).toEqual([3, 3, 3]);
  });

  it("costs less with fewer replicas, and has more requests over the objective, never under what its range says", () => {
    const shadow = told({ replicas: 8, requestsPerSecond: 55, windows: 80, hpa: { cpuPercent: 95 } });
    const { cost, hpaCost, hpaRequestsOver, requests, requestsOver } = shadow.comparison(...ALWAYS)!;
    expect(hpaCost.middle).toBeLessThan(cost);
    expect(hpaRequestsOver.middle).toBeGreaterThan(requestsOver);
    expect(hpaRequestsOver.high).toBeLessThanOrEqual(requests);
    for (const { high, low, middle } of [hpaCost, hpaRequestsOver]) {
      expect(low).toBeLessThanOrEqual(middle);
      expect(middle).toBeLessThanOrEqual(high);
    }
  });

  it("has the measured requests over the objective, to the last bit, while it has what ran", () => {
    const { hpaRequestsOver, requestsOver } = told({
      replicas: 2,
      requestsPerSecond: 40,
      windows: 12,
    }).comparison(...ALWAYS)!;
    expect(hpaRequestsOver).toEqual({ low: requestsOver, middle: requestsOver, high: requestsOver });
  });

  it("prices the replicas that were ready, and those of the HPA, at the application's prices", () => {
    const { cost, hpaCost, seconds } = told({ replicas: 2, requestsPerSecond: 40, windows: 12 }).comparison(
      ...ALWAYS,
    )!;
    const { prices } = application();
    const windows = chained([
      {
        service: "a",
        replicas: 1,
        cores: 1,
        requestsPerSecond: 1,
        cpuSecondsPerRequest: 0.001,
        baseSeconds: 0.01,
      },
    ]).windows;
    const memoryBytes = windows[0]!.containers[0]!.memoryLimitBytes ?? 0;
    const hourly = costPerHour({ cpuCores: 1, memoryBytes, replicas: 3 }, prices);
    expect(cost).toBeCloseTo((hourly * seconds) / 3_600, 9);
    expect(hpaCost.middle).toBeCloseTo(cost, 9);
  });

  it("compares nothing where no live models decided", () => {
    const shadow = told({ replicas: 2, requestsPerSecond: 40, windows: 12, hasModels: false });
    expect(shadow.comparison(...ALWAYS)).toBeUndefined();
  });

  it("goes on after a restart with the replicas and the hours that were kept", () => {
    const kept: ShadowState[] = [];
    const before = told({ replicas: 8, requestsPerSecond: 40, windows: 60, kept });
    before.keep();
    const restored = ShadowState.parse(JSON.parse(JSON.stringify(kept.at(-1))));
    const after = told({ replicas: 8, requestsPerSecond: 40, windows: 4, restored });
    expect(replicasOf(after, "backend")?.[1]).toBe(2);
    expect(after.comparison(...ALWAYS)!.cost).toBeGreaterThan(before.comparison(...ALWAYS)!.cost);
  });
});

const hour = (at: number) => {
  const range = (middle: number) => ({ low: middle - 1, middle, high: middle + 1 });
  return {
    fromMs: START_MS + at * HOUR_MS,
    toMs: START_MS + (at + 1) * HOUR_MS,
    seconds: 3_600,
    requests: 1_000,
    requestsOver: 4,
    cost: 2,
    hpaRequestsOver: range(9),
    hpaCost: range(3),
  };
};

describe("what a shadow says of a time", () => {
  const hours = Array.from({ length: 200 }, (_, at) => hour(at));
  const shadow = new Shadow({ ...emptyShadow("hotel", "shop"), hours });

  it("is the sum of the hours that the time touches", () => {
    const some = shadow.comparison(START_MS + 1.5 * HOUR_MS, START_MS + 3.5 * HOUR_MS)!;
    expect(some).toMatchObject({ seconds: 3 * 3_600, cost: 6, hpaCost: { low: 6, middle: 9, high: 12 } });
    expect(some.fromMs).toBe(START_MS + HOUR_MS);
  });

  it("is the same in the metrics of the last week as in a report of that week", async () => {
    const registry = new Registry();
    registerShadow(registry, "hotel", shadow);
    const toMs = hours.at(-1)!.toMs;
    const week = shadow.comparison(toMs - 7 * 86_400_000, toMs)!;
    expect(week.seconds).toBe(168 * 3_600);
    const values = new Map(
      (await registry.getMetricsAsJSON()).flatMap(({ name, values: all }) =>
        all.map(({ labels, value }) => [`${name} ${String(labels["policy"])}`, value] as const),
      ),
    );
    const cost = "tradewind_predictor_week_cost";
    const over = "tradewind_predictor_week_requests_over_ratio";
    expect(Object.fromEntries(values)).toEqual({
      [`${cost} running`]: week.cost,
      [`${cost} hpa`]: week.hpaCost.middle,
      [`${cost} hpa-low`]: week.hpaCost.low,
      [`${cost} hpa-high`]: week.hpaCost.high,
      [`${over} running`]: week.requestsOver / week.requests,
      [`${over} hpa`]: week.hpaRequestsOver.middle / week.requests,
      [`${over} hpa-low`]: week.hpaRequestsOver.low / week.requests,
      [`${over} hpa-high`]: week.hpaRequestsOver.high / week.requests,
    });
  });
});
