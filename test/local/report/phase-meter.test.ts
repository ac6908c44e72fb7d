import { describe, expect, it } from "vitest";
import { PhaseReport } from "@tradewind/core/contract/run-report.ts";
import { phasesOf } from "@tradewind/local/load/phases.ts";
import { createPhaseMeter } from "@tradewind/local/report/phase-meter.ts";

const outcome = (dueSeconds: number, latencySeconds: number, failed = false) => ({
  route: "GET /",
  dueSeconds,
  latencySeconds,
  failed,
});

describe("createPhaseMeter", () => {
  it("counts each request in the phase in which it was due, and a failed one as a violation", () => {
    const meter = createPhaseMeter(phasesOf(150), 0.25);
    meter.record(outcome(44.9, 3));
    for (let index = 0; index < 95; index += 1) meter.record(outcome(50, 0.1));
    for (let index = 0; index < 3; index += 1) meter.record(outcome(60, 0.3));
    meter.record(outcome(61, 2, true));
    meter.record(outcome(62, 2, true));
    const [, calm, surge, interference] = meter.report();
    expect(calm).toMatchObject({ name: "calm", requests: 1, failed: 0, violationRatio: 1 });
    expect(surge).toMatchObject({ name: "surge", requests: 100, failed: 2, violationRatio: 0.05 });
    expect(surge!.p95Ms!).toBeGreaterThan(99);
    expect(surge!.p95Ms!).toBeLessThan(102);
    expect(interference).toMatchObject({ requests: 0, p95Ms: null, violationRatio: null });
  });

  it("weighs replicas and what they are given by time, and divides CPU time by it", () => {
    const meter = createPhaseMeter(phasesOf(150), 0.25);
    // 0 to 10 s with 8 replicas and 3 CPU seconds, 10 to 15 s with 11 and 3 more.
    meter.sample({ atS: 0, replicas: 8, cpuSeconds: 100, allocatedCpuCores: 0.9, allocatedMemoryBytes: 800 });
    meter.sample({
      atS: 10,
      replicas: 11,
      cpuSeconds: 103,
      allocatedCpuCores: 1.2,
      allocatedMemoryBytes: 500,
    });
    meter.sample({
      atS: 15,
      replicas: 11,
      cpuSeconds: 106,
      allocatedCpuCores: 1.2,
      allocatedMemoryBytes: 500,
    });
    expect(meter.report()[0]).toMatchObject({
      replicasMean: 9,
      cpuCoresMean: 0.4,
      allocatedCpuCoresMean: 1,
      allocatedMemoryBytesMean: 700,
    });
  });

  it("gives each phase its part of a sample that comes late, also where the phases begin again", () => {
    const meter = createPhaseMeter(phasesOf(150), 0.25);
    const given = { replicas: 4, allocatedCpuCores: 2, allocatedMemoryBytes: 800 };
    meter.sample({ atS: 140, cpuSeconds: 0, ...given });
    meter.sample({ atS: 200, cpuSeconds: 60, ...given });
    const part = {
      cpuCoresMean: 1,
      replicasMean: 4,
      allocatedCpuCoresMean: 2,
      allocatedMemoryBytesMean: 800,
    };
    const [warmup, calm, surge, interference, recovery] = meter.report();
    for (const phase of [warmup, calm, surge, recovery]) {
      expect(phase?.cpuCoresMean).toBeCloseTo(part.cpuCoresMean, 9);
      expect(phase?.replicasMean).toBeCloseTo(part.replicasMean, 9);
      expect(phase?.allocatedCpuCoresMean).toBeCloseTo(part.allocatedCpuCoresMean, 9);
      expect(phase?.allocatedMemoryBytesMean).toBeCloseTo(part.allocatedMemoryBytesMean, 6);
    }
    expect(interference?.replicasMean).toBe(0);
  });

  it("adds rounds that repeat to the same phases", () => {
    const meter = createPhaseMeter(phasesOf(150), 0.25);
    meter.record(outcome(50, 0.1));
    meter.record(outcome(200, 0.5));
    expect(meter.report()[2]).toMatchObject({ name: "surge", requests: 2, violationRatio: 0.5 });
  });

  it("reports what the contract asks for, even of a run in which nothing happened", () => {
    for (const phase of createPhaseMeter(phasesOf(20), 0.25).report()) {
      expect(PhaseReport.parse(phase)).toEqual(phase);
    }
  });
});
