import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuDemand, isDraining } from "@tradewind/predictor/decide/facts/demand.ts";
import type { CpuDemand } from "@tradewind/predictor/decide/facts/demand.ts";
import { isSaturated, provenCores, reactiveNeed } from "@tradewind/predictor/decide/facts/need.ts";
import { window } from "../../measurements.ts";

const demandOf = (cores: number, podsMeasured: number): CpuDemand => ({
  cores,
  usageCores: cores,
  podCapacityCores: 1,
  podsMeasured,
  throttledRatio: 0,
  backlog: 0,
});

describe("CPU demand", () => {
  it("is the use of all pods, in cores, and what one pod can give", () => {
    const demand = cpuDemand(
      window({ service: "a", replicas: 3, rate: 60, podUsageCores: 0.4 }),
      {},
      0.65,
      30,
    );
    expect(demand?.cores).toBeCloseTo(1.2, 12);
    expect(demand?.podCapacityCores).toBe(1);
    expect(demand?.secondsPerRequest).toBeCloseTo(0.02, 12);
  });

  it("counts use once more for the throttled share of periods when the quota is used up", () => {
    const throttled = window({ service: "a", replicas: 1, rate: 50, podUsageCores: 1, throttled: 0.5 });
    expect(cpuDemand(throttled, {}, 0.65, 30)?.cores).toBeCloseTo(1.5, 12);
  });

  it("takes throttling below the quota for delay, not for hidden demand", () => {
    const bursts = window({ service: "a", replicas: 1, rate: 50, podUsageCores: 0.6, throttled: 0.9 });
    expect(cpuDemand(bursts, {}, 0.65, 30)?.cores).toBeCloseTo(0.6, 12);
    const nearly = window({ service: "a", replicas: 1, rate: 50, podUsageCores: 0.9, throttled: 0.8 });
    expect(cpuDemand(nearly, {}, 0.65, 30)?.cores).toBeCloseTo(0.9 * 1.4, 12);
  });

  it("is what arrives, not what is served, while the queue grows", () => {
    // 50/s served with 20 ms each; the queue grows by 300 in 15 s: 20/s more arrive. Backlog 310 − 1.86 in 30 s: 0.205.
    const window1 = window({ service: "a", replicas: 1, rate: 50, podUsageCores: 1 });
    const demand = cpuDemand(window1, { now: 310, before: 10 }, 0.65, 30);
    expect(demand?.cores).toBeCloseTo(1.4 + ((310 - 0.65 / 0.35) * 0.02) / 30, 9);
  });

  it("does not take pods that work off a queue for pods that are too few, throttled as they are", () => {
    const draining = window({ service: "a", replicas: 4, rate: 200, podUsageCores: 1, throttled: 1 });
    const demand = cpuDemand(draining, { now: 100, before: 1_000 }, 0.65, 30);
    // 4 cores serve 200/s, but the queue falls by 900 in 15 s: 140/s arrive, 2.8 cores; the backlog adds 0.062.
    expect(demand?.cores).toBeCloseTo(2.8 + ((100 - 4 * (0.65 / 0.35)) * 0.02) / 30, 9);
  });

  it("takes less than one request in a service at once for no queue: that changes by chance", () => {
    expect(isDraining({ now: 0.5, before: 0.9 })).toBe(false);
    expect(isDraining({ now: 0.5, before: 1.1 })).toBe(true);
    expect(isDraining({ now: 1, before: 1.1 })).toBe(false);
  });

  it("is unknown without use, and without limit and request", () => {
    expect(cpuDemand(window({ service: "a", replicas: 2, rate: 1 }), {}, 0.65, 30)).toBeUndefined();
    const unlimited = window({ service: "a", replicas: 1, podUsageCores: 0.5 });
    unlimited.containers = unlimited.containers.map(({ id, cpuUsageCores }) => ({
      id,
      cpuUsageCores: cpuUsageCores!,
    }));
    expect(cpuDemand(unlimited, {}, 0.65, 30)).toBeUndefined();
  });

  it("adds up the containers of a pod", () => {
    const sidecar = window({ service: "a", replicas: 1, podUsageCores: 0.5 });
    sidecar.containers.push({ id: "proxy", podName: "a-0", cpuRequestCores: 0.5, cpuUsageCores: 0.1 });
    const demand = cpuDemand(sidecar, {}, 0.65, 30);
    expect(demand).toMatchObject({ podsMeasured: 1, podCapacityCores: 1.5 });
    expect(demand?.cores).toBeCloseTo(0.6, 12);
  });

  it("does not depend on I/O: requests that wait for others without CPU are hardly a backlog", () => {
    const waiting = window({ service: "a", replicas: 1, rate: 100, podUsageCores: 0.05 });
    expect(cpuDemand(waiting, { now: 500, before: 500 }, 0.65, 30)?.cores).toBeLessThan(0.06);
  });
});

const LIMITS = { targetUtilisation: 0.65, shrinkUtilisation: 0.55, needGrowthLimit: 3 };

describe("the reactive need", () => {
  it.each([
    ["3 cores of demand at 65 % of one core each", demandOf(3, 3), 3, 5],
    ["exactly what three pods may use", demandOf(1.95, 3), 3, 3],
    ["an idle service", demandOf(0, 3), 3, 1],
    ["more than three times what is there", demandOf(100, 4), 4, 12],
    ["one overloaded pod", demandOf(2, 1), 1, 3],
  ])("for %s", (_name, demand, ready, need) => {
    expect(reactiveNeed(demand, ready, LIMITS)?.atLeast).toBe(need);
  });

  it("leaves more room before a pod goes than before one comes", () => {
    expect(reactiveNeed(demandOf(1.9, 3), 3, LIMITS)).toMatchObject({ atLeast: 3, enough: 4 });
  });

  it("is unknown when nothing serves", () => {
    expect(reactiveNeed(demandOf(1, 1), 0, LIMITS)).toBeUndefined();
  });

  it("takes pods that were not measured for idle before it adds, for full before it lets one go", () => {
    // Two of four measured: 0.2 cores in all, or 2.2 were the others full.
    expect(reactiveNeed(demandOf(0.2, 2), 4, LIMITS)).toMatchObject({
      atLeast: 1,
      enough: 4,
      utilisation: 0.1,
    });
    expect(reactiveNeed(demandOf(1.9, 2), 4, LIMITS)).toMatchObject({
      atLeast: 3,
      enough: 8,
      utilisation: 0.95,
    });
    expect(reactiveNeed(demandOf(4, 2), 4, LIMITS)).toMatchObject({ atLeast: 7 });
  });

  it("is at least 1, whole, and never falls with demand", () => {
    const cores = fc.double({ min: 0, max: 1e4, noNaN: true });
    const counts = fc.integer({ min: 1, max: 200 });
    fc.assert(
      fc.property(cores, cores, counts, counts, (one, other, measured, ready) => {
        const low = reactiveNeed(demandOf(Math.min(one, other), measured), ready, LIMITS)!;
        const high = reactiveNeed(demandOf(Math.max(one, other), measured), ready, LIMITS)!;
        for (const name of ["atLeast", "enough"] as const) {
          expect(low[name]).toBeGreaterThanOrEqual(1);
          expect(Number.isInteger(high[name])).toBe(true);
          expect(high[name]).toBeGreaterThanOrEqual(low[name]);
        }
      }),
    );
  });
});

describe("the CPU that use alone proves necessary", () => {
  it("is nothing until an HPA at 80 % with its tolerance of a tenth would act", () => {
    expect(provenCores(demandOf(1.75, 2))).toBe(0);
    expect(isSaturated(demandOf(1.75, 2))).toBe(false);
    expect(provenCores(demandOf(1.8, 2))).toBeCloseTo(1.8 / 0.8, 12);
  });

  it("is what such an HPA asks for, though the queue seems to be worked off", () => {
    expect(provenCores({ ...demandOf(0.4, 2), usageCores: 2 })).toBeCloseTo(2.5, 12);
  });
});
