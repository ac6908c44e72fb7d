import { describe, expect, it } from "vitest";
import type { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { AgentReadings } from "@tradewind/exporter/silence/agent-readings.ts";
import { containerOf, snapshotOf } from "./snapshots.ts";

const SEARCH = [{ name: "search", container: "app" }];
const heard = (...containers: Snapshot["containers"]): AgentReadings => {
  const readings = new AgentReadings();
  readings.hear("http://node-1", snapshotOf(containers), 1_000);
  return readings;
};

describe("readings of a service", () => {
  it("add up the CPU of its pods' main containers, and average limits and memory", () => {
    const readings = heard(
      containerOf("search-7f9c6bd4d8-x7k2m", { cpu: 0.3, memoryBytes: 100e6 }),
      containerOf("search-7f9c6bd4d8-b8d9c", { cpu: 0.5, memoryBytes: 140e6 }),
      containerOf("search-7f9c6bd4d8-b8d9c", { cpu: 0.2, containerName: "proxy", id: "proxy" }),
    );
    expect(readings.reading("shop", SEARCH)).toEqual({
      atMs: 1_000,
      pods: 2,
      cpuCores: 0.8,
      throttledRatio: 0,
      cpuLimitCores: 0.5,
      memoryBytes: 120e6,
      memoryLimitBytes: 256e6,
    });
  });

  it.each([
    ["search-7f9c6bd4d8-x7k2m", 1],
    ["search-0", 1],
    ["search-x7k2m", 1],
    ["search-1a2b3c4d", 1],
    ["search-cache-7f9c6bd4d8-x7k2m", undefined],
    ["search-migrate-x7k2m", undefined],
    ["research-7f9c6bd4d8-x7k2m", undefined],
    ["search", undefined],
  ])("count pod %s: %s", (podName, pods) => {
    expect(heard(containerOf(podName, { cpu: 0.3 })).reading("shop", SEARCH)?.pods).toBe(pods);
  });

  it("leave out what is of another namespace, what was read too long ago and what has no CPU use", () => {
    const readings = heard(
      containerOf("search-0", { cpu: 0.3, namespace: "other" }),
      containerOf("search-1", { cpu: 0.3, ageSeconds: 76 }),
      containerOf("search-2", {}),
    );
    expect(readings.reading("shop", SEARCH)).toBeUndefined();
  });

  it("leave out a container that has only just appeared, which starts", () => {
    const readings = heard(containerOf("search-0", { cpu: 0.3 }));
    const grown = snapshotOf([containerOf("search-0", { cpu: 0.3 }), containerOf("search-1", { cpu: 0.9 })]);
    readings.hear("http://node-1", grown, 6_000);
    expect(readings.reading("shop", SEARCH)?.cpuCores).toBe(0.3);
    readings.hear("http://node-1", grown, 36_000);
    expect(readings.reading("shop", SEARCH)?.cpuCores).toBeCloseTo(1.2);
  });

  it("tell the share of throttled periods between two snapshots", () => {
    const readings = heard(containerOf("search-0", { cpu: 0.5, periods: [100, 10] }));
    readings.hear(
      "http://node-1",
      snapshotOf([containerOf("search-0", { cpu: 0.5, periods: [200, 90] })]),
      6_000,
    );
    expect(readings.reading("shop", SEARCH)?.throttledRatio).toBeCloseTo(0.8);
  });

  it("are as old as the oldest snapshot behind them, and an agent that is gone knows nothing", () => {
    const readings = heard(containerOf("search-0", { cpu: 0.5 }));
    readings.hear("http://node-2", snapshotOf([containerOf("search-1", { cpu: 0.5 })]), 20_000);
    expect(readings.reading("shop", SEARCH)?.atMs).toBe(1_000);
    readings.forget(["http://node-1", "http://node-2"], 61_500);
    expect(readings.reading("shop", SEARCH)).toMatchObject({ atMs: 20_000, pods: 1 });
    readings.forget([], 61_500);
    expect(readings.reading("shop", SEARCH)).toBeUndefined();
  });
});
