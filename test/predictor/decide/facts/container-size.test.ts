import { describe, expect, it } from "vitest";
import { containerFacts, unmovedAfter } from "@tradewind/predictor/decide/facts/container-size.ts";
import { ServiceMemory } from "@tradewind/predictor/decide/facts/state.ts";
import { application, START_MS, window } from "../../measurements.ts";

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

describe("a wish for another CPU size that is not carried out", () => {
  /** Runs with one core and was wished to be so large for ten minutes. */
  const waiting = (cpuCores: number) =>
    ServiceMemory.parse({
      service: "backend",
      replicas: 1,
      seenAtMs: START_MS,
      cpuCores,
      cpuUnmovedSinceMs: START_MS - 600_000,
      platformCpuCores: 1,
    });

  it("waits on while it asks for the same way", () => {
    expect(unmovedAfter(waiting(0.6), 0.8, 1, START_MS)).toEqual({ cpuUnmovedSinceMs: START_MS - 600_000 });
  });

  it("waits from now on once it asks for the other way, so that a smaller size that never came does not rule out a larger one", () => {
    expect(unmovedAfter(waiting(0.6), 2, 1, START_MS)).toEqual({ cpuUnmovedSinceMs: START_MS });
    expect(unmovedAfter(waiting(2), 0.6, 1, START_MS)).toEqual({ cpuUnmovedSinceMs: START_MS });
  });
});
