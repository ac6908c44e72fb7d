import { describe, expect, it } from "vitest";
import { costPerHour } from "@tradewind/core/contract/prices.ts";

describe("costPerHour", () => {
  it("adds CPU and memory of all replicas: 3 of 0.5 cores and 2 GB at 0.04 and 0.005 are 0.09", () => {
    const size = { replicas: 3, cpuCores: 0.5, memoryBytes: 2e9 };
    expect(costPerHour(size, { cpuCoreHour: 0.04, memoryGigabyteHour: 0.005 })).toBeCloseTo(0.09, 12);
  });
});
