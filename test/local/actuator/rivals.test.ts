import { describe, expect, it } from "vitest";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import { createCpuMeter } from "@tradewind/local/actuator/cpu-meter.ts";
import { measuredPods } from "@tradewind/local/actuator/rivals.ts";
import { KUBERNETES_READINESS, proposeByUtilisation } from "@tradewind/core/hpa/resource-metric.ts";

const NOW_MS = 1_700_000_000_000;
const SAMPLE_SECONDS = 3;

/**
 * Replicas that an HPA asks for, of containers with 0.2 cores that have been ready for `readyForSeconds`; `undefined` stands
 * for one without a reading.
 */
function proposed(
  usage: readonly (number | undefined)[],
  { readyForSeconds = 60, starting = 0 } = {},
): number | undefined {
  const readyAtMs = NOW_MS - readyForSeconds * 1e3;
  const ready = usage.map((_, at) => ({
    identity: { podUid: "", podName: "", containerId: String(at), version: 1 },
    startedAtMs: readyAtMs - 1_000,
    readyAtMs,
    usage: () => ({ atMs: NOW_MS, cpuSeconds: 0, residentBytes: 0, requestsTotal: 0, refusedTotal: 0 }),
  }));
  const replicasWanted = usage.length + starting;
  const pods = measuredPods(
    { ready, replicasWanted, size: { cpuCores: 0.2, memoryBytes: 1 } },
    { usageCores: (id) => usage[Number(id)] },
  );
  const rules = { ...KUBERNETES_READINESS, sampleSeconds: SAMPLE_SECONDS };
  const target = { targetPercent: 50, behavior: KUBERNETES_DEFAULT_BEHAVIOR, rules };
  return proposeByUtilisation(pods, target, replicasWanted, NOW_MS)?.replicas;
}

describe("the CPU metric of an HPA on the local platform", () => {
  it("doubles the replicas at twice the target: ceil(current · use / target)", () => {
    expect(proposed([0.2, 0.2])).toBe(4);
    expect(proposed([0.05, 0.05, 0.05, 0.05])).toBe(2);
  });

  it("moves nothing within the tolerance of 10 %", () => {
    expect(proposed([0.109, 0.109])).toBe(2);
    expect(proposed([0.092, 0.092])).toBe(2);
    expect(proposed([0.12, 0.12])).toBe(3);
  });

  it("counts replicas without a reading as idle where the others ask for more", () => {
    // 0.4 cores over a target of 0.1 each: 4 replicas, not 8 as the mean of the two would say.
    expect(proposed([0.2, 0.2, undefined, undefined])).toBe(4);
  });

  it("counts replicas without a reading as fully used where the others ask for less", () => {
    // 2 · 0.02 + 2 · 0.2 over 0.1 is 4.4; that turns the direction round, so nothing moves.
    expect(proposed([0.02, 0.02, undefined, undefined])).toBe(4);
    // 3 · 0.02 + 0.2 over 0.1 is 2.6.
    expect(proposed([0.02, 0.02, 0.02, undefined])).toBe(3);
  });

  it("is missing while no replica has a reading", () => {
    expect(proposed([undefined])).toBeUndefined();
    expect(proposed([])).toBeUndefined();
  });

  it("counts replicas that start as idle where the others ask for more, and not at all where they ask for less", () => {
    // Two at 90 % and four at 0 %: 30 % of 50 %, which turns the direction round, so nothing moves.
    expect(proposed([0.18, 0.18], { starting: 4 })).toBe(6);
    // 10 % of 50 %: ceil(0.2 · 2).
    expect(proposed([0.02, 0.02], { starting: 2 })).toBe(1);
  });

  it("ignores the CPU of a replica's start until a whole sample lies after its readiness", () => {
    expect(proposed([0.2, 0.2], { readyForSeconds: SAMPLE_SECONDS - 1 })).toBeUndefined();
    expect(proposed([0.2, 0.2], { readyForSeconds: SAMPLE_SECONDS })).toBe(4);
  });
});

describe("the CPU meter", () => {
  const at = (seconds: number, cpuSeconds: number, id = "a") => ({ id, atMs: seconds * 1e3, cpuSeconds });

  it("gives the mean since the newest reading that is old enough", () => {
    const meter = createCpuMeter(3);
    for (const [seconds, cpuSeconds] of [
      [0, 0],
      [1, 0.5],
      [2, 1],
    ] as const)
      meter.observe([at(seconds, cpuSeconds)]);
    expect(meter.usageCores("a")).toBeUndefined();
    meter.observe([at(3, 1.2)]);
    expect(meter.usageCores("a")).toBeCloseTo(0.4, 12);
    meter.observe([at(5, 1.2)]);
    expect(meter.usageCores("a")).toBeCloseTo(0.2 / 3, 12);
  });

  it("ignores a reading that it has already, and forgets containers that are gone", () => {
    const meter = createCpuMeter(2);
    meter.observe([at(0, 0), at(0, 0, "b")]);
    meter.observe([at(2, 1), at(2, 1, "b")]);
    meter.observe([at(2, 1)]);
    expect(meter.usageCores("a")).toBeCloseTo(0.5, 12);
    expect(meter.usageCores("b")).toBeUndefined();
  });
});
