import { describe, expect, it } from "vitest";
import { studentAllocation } from "@tradewind/exporter/silence/allocate.ts";
import type { Silence } from "@tradewind/exporter/silence/allocate.ts";
import { wishOf } from "../wish.ts";

const EVERYTHING = { cpu: 0.9, memory: 0.9, replicas: 0.9 };

/** Two replicas of 0.2 cores and 100 MB that use all of their CPU and 60 MB. */
function silence(part: Partial<Silence> & { readonly maxReplicas?: number } = {}): Silence {
  const planned = { replicas: 2, cpuCores: 0.2, memoryBytes: 100e6 };
  const bounds = { ...wishOf().bounds, maxReplicas: part.maxReplicas ?? 60 };
  return {
    planned,
    current: planned,
    bounds: { ...bounds, cpuMinCores: 0.05, cpuStepCores: 0.05, memoryMinBytes: 1e6, memoryStepBytes: 10e6 },
    limits: { growRatio: 3, growReplicas: 4 },
    use: { cores: 0.4, podCores: 0.2, pods: 2, memoryBytes: 60e6 },
    ...part,
  };
}

describe("a student that asks for more of everything", () => {
  it("gets the replica that 0.4 cores need at 85 %, and no larger containers beside it", () => {
    // 0.4 / (0.2 * 0.85) is 2.4: three replicas, of which each then needs 0.157 cores.
    expect(studentAllocation(EVERYTHING, silence())).toEqual({
      replicas: 3,
      cpuCores: 0.2,
      memoryBytes: 100e6,
    });
  });

  it("gets one step of CPU where no replica may be added: 0.4 / (2 * 0.85) is 0.235 cores", () => {
    const { cpuCores, replicas } = studentAllocation(EVERYTHING, silence({ maxReplicas: 2 }));
    expect(replicas).toBe(2);
    expect(cpuCores).toBeCloseTo(0.25, 12);
  });

  it("gets memory only where what is in use needs it: 90 MB need 105.9 at 85 %, one step of 10", () => {
    const use = { cores: 0.1, podCores: 0.2, pods: 2, memoryBytes: 90e6 };
    expect(studentAllocation(EVERYTHING, silence({ use }))).toEqual({
      replicas: 2,
      cpuCores: 0.2,
      memoryBytes: 110e6,
    });
  });

  it("keeps its sizes where the need is no number", () => {
    const use = { cores: 0.1, podCores: 0.2, pods: 2, memoryBytes: Number.NaN };
    const current = { replicas: 2, cpuCores: 0.25, memoryBytes: 120e6 };
    expect(studentAllocation(EVERYTHING, silence({ use, current }))).toEqual(current);
  });
});
