import { describe, expect, it } from "vitest";
import { containerFacts } from "@tradewind/predictor/facts/container-size.ts";
import { ServiceMemory } from "@tradewind/predictor/facts/state.ts";
import { application, START_MS, window } from "../measurements.ts";

const MEGABYTE = 1e6;
const resizable = application({ resize: "limits" });

/** Runs with 1 core and `memoryMegabytes`; `wished` came on top of 1 core and 256 MB. */
function facts(memoryMegabytes: number, wished: { cpuCores: number; memoryMegabytes: number }) {
  const running = window({ service: "backend", replicas: 1, podUsageCores: 0.2 });
  running.containers[0]!.memoryLimitBytes = memoryMegabytes * MEGABYTE;
  const memory = ServiceMemory.parse({
    service: "backend",
    replicas: 1,
    seenAtMs: START_MS,
    cpuCores: wished.cpuCores,
    memoryBytes: wished.memoryMegabytes * MEGABYTE,
    platformCpuCores: 1,
    platformMemoryBytes: 256 * MEGABYTE,
  });
  return containerFacts(resizable, running, memory, false, START_MS);
}

describe("a resize under way", () => {
  it("is one of CPU, either way, or of memory that is lacking", () => {
    expect(facts(256, { cpuCores: 0.5, memoryMegabytes: 256 }).resizing).toBe(true);
    expect(facts(256, { cpuCores: 2, memoryMegabytes: 256 }).resizing).toBe(true);
    expect(facts(256, { cpuCores: 1, memoryMegabytes: 512 }).resizing).toBe(true);
    expect(facts(256, { cpuCores: 1, memoryMegabytes: 256 }).resizing).toBe(false);
  });

  it("is not a memory limit that what is resident keeps the platform from lowering", () => {
    const stuck = facts(150, { cpuCores: 1, memoryMegabytes: 128 });
    expect(stuck.resizing).toBe(false);
    expect(stuck.container).toEqual({ cpuCores: 1, memoryBytes: 128 * MEGABYTE });
  });
});
