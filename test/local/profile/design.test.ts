import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import { demandPerRequest } from "@tradewind/local/profile/demand.ts";
import {
  designSweep,
  interferenceName,
  LOAD_RANGE,
  strata,
  SWEEP_FLOWS,
} from "@tradewind/local/profile/design.ts";

describe("strata", () => {
  it("visits each part of the range once", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer(), (count, seed) => {
        const visited = strata(count, seededRng(seed)).map((point) => Math.floor(point * count));
        expect(visited.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, index) => index));
      }),
    );
  });
});

describe("demandPerRequest", () => {
  it("adds up the calls of all flows, with 2 ms of overhead each", () => {
    const demand = demandPerRequest(HOTEL, HOTEL.flows);
    expect(demand.get("frontend")).toBeCloseTo(0.0025, 9);
    // 60 % of requests take 1.2 + 2 ms in geo, 90 % as much in profile, 10 % take 0.5 + 2 ms in user.
    expect(demand.get("geo")).toBeCloseTo(0.6 * 0.0032, 9);
    expect(demand.get("profile")).toBeCloseTo(0.9 * 0.0032, 9);
    expect(demand.get("user")).toBeCloseTo(0.1 * 0.0025, 9);
  });
});

describe("designSweep", () => {
  const most = { cpu: 0.75, memory: 0.5, bandwidth: 0.8, network: 0.8, disk: 0.8 };
  const design = designSweep(HOTEL, 200, 1, most);

  it("is the same for the same seed, and the beginning of a longer one", () => {
    expect(designSweep(HOTEL, 200, 1, most)).toEqual(design);
    expect(designSweep(HOTEL, 230, 1, most).slice(0, 200)).toEqual(design);
    expect(designSweep(HOTEL, 200, 2, most)).not.toEqual(design);
    expect(new Set(design.map(({ id }) => id)).size).toBe(200);
  });

  it("stays within the bounds and steps of every service", () => {
    const { min, max, step } = HOTEL.services[0]!.sizeBounds;
    for (const { services, requestsPerSecond } of design) {
      expect(services.map(({ service }) => service)).toEqual(HOTEL.services.map(({ name }) => name));
      expect(requestsPerSecond).toBeGreaterThanOrEqual(LOAD_RANGE.from);
      expect(requestsPerSecond).toBeLessThanOrEqual(LOAD_RANGE.to);
      for (const { replicas, size } of services) {
        expect([1, 2, 3]).toContain(replicas);
        expect(size.cpuCores).toBeGreaterThanOrEqual(min.cpuCores);
        expect(size.cpuCores).toBeLessThanOrEqual(max.cpuCores);
        const steps = size.cpuCores / step.cpuCores;
        expect(steps).toBeCloseTo(Math.round(steps), 6);
        expect(size.memoryBytes % step.memoryBytes).toBe(0);
      }
    }
  });

  it("takes services past saturation in some configurations, and none in most", () => {
    const demand = demandPerRequest(HOTEL, SWEEP_FLOWS);
    const saturated = design.filter(({ services, requestsPerSecond }) =>
      services.some(
        ({ service, replicas, size }) => requestsPerSecond * demand.get(service)! > replicas * size.cpuCores,
      ),
    );
    expect(saturated.length).toBeGreaterThan(20);
    expect(saturated.length).toBeLessThan(100);
  });

  it("keeps replicas over a few configurations, and disturbs about 60 % within what the machine bears", () => {
    const replicas = design.map(({ services }) => services.map((each) => each.replicas).join(" "));
    for (let index = 0; index < 200; index += 4)
      expect(new Set(replicas.slice(index, index + 4)).size).toBe(1);
    expect(design.filter(({ disturbance }) => disturbance !== undefined)).toHaveLength(120);
    const names = new Set(design.map(interferenceName));
    expect([...names].sort()).toEqual([
      "bandwidth-0.3",
      "bandwidth-0.5",
      "bandwidth-0.7",
      "cpu-0.3",
      "cpu-0.5",
      "cpu-0.7",
      "disk-0.3",
      "disk-0.5",
      "disk-0.7",
      "memory-0.3",
      "memory-0.5",
      "network-0.3",
      "network-0.5",
      "network-0.7",
      "none",
    ]);
    const none = { cpu: 0.2, memory: 0, bandwidth: 0, network: 0, disk: 0 };
    expect(designSweep(HOTEL, 20, 1, none).every(({ disturbance }) => disturbance === undefined)).toBe(true);
  });
});
