import { serialize } from "node:v8";
import type { Window } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { inflationAt } from "@tradewind/predictor/profile/cpu-inflation.ts";
import { observedWindows, trainingData } from "@tradewind/predictor/training/rows.ts";
import { describe, expect, it } from "vitest";

const none = { supported: false };

/** One container of one core; a request takes 10 ms of CPU, and e times that where others take the whole node. */
function windowAt(i: number, load: number, cpuInterference: number | undefined): Window {
  const cost = 0.01 * Math.exp(cpuInterference ?? 0);
  const cpu = cpuInterference === undefined ? none : { supported: true, value: cpuInterference };
  return {
    namespace: "shop",
    service: "cart",
    startMs: 15_000 * i,
    endMs: 15_000 * (i + 1),
    replicasReady: 1,
    requestsPerSecond: load,
    ownLatency: { count: 1e6, meanSeconds: 0.02, p50Seconds: 0.02, p95Seconds: 0.05, p99Seconds: 0.08 },
    callees: [],
    containers: [
      {
        id: "a",
        cpuLimitCores: 1,
        cpuUsageCores: Math.min(1, load * cost),
        interference: { cpu, memoryCapacity: none, memoryBandwidth: none, network: none },
      },
    ],
  };
}

describe("a window that was observed", () => {
  it("takes as few bytes on its way to the training thread with 500 containers as with one", () => {
    const window = windowAt(0, 20, 0.3);
    const [container] = window.containers;
    const many = { ...window, containers: Array.from({ length: 500 }, () => ({ ...container! })) };
    const bytesOf = (each: Window): number => serialize(observedWindows([each], 0.95)).length;
    expect(observedWindows([many], 0.95)).toHaveLength(1);
    expect(bytesOf(many)).toBe(bytesOf(window));
    expect(bytesOf(window)).toBeLessThan(500);
  });
});

describe("rows of saturated windows", () => {
  const rng = seededRng(1);
  const calm = Array.from({ length: 200 }, (_, i) => windowAt(i, 20, 0.5 * rng()));

  it("have the CPU seconds that their interference is known to make of a request, not those that there were", () => {
    const { rows } = trainingData(observedWindows([...calm, windowAt(200, 90, 0.8)], 0.95));
    // 90 requests a second of 22 ms need 2 cores of the one there is.
    expect(rows.at(-1)!.input[7]! / (0.01 * Math.exp(0.8))).toBeCloseTo(1, 1);
  });

  it("say what their state was corrected with", () => {
    const { rows } = trainingData(observedWindows(calm, 0.95));
    const { inflation } = rows[0]!;
    const factor = (cpu: number): number =>
      inflationAt(inflation!, [cpu, Number.NaN, Number.NaN, Number.NaN]);
    // Few windows are not believed in full.
    expect(factor(0.5) / factor(0)).toBeGreaterThan(1.4);
    expect(factor(0.5) / factor(0)).toBeLessThan(Math.exp(0.5));
  });

  it("have what there was where interference was never measured", () => {
    const unseen = Array.from({ length: 60 }, (_, i) => windowAt(i, 20, undefined));
    const { rows } = trainingData(observedWindows([...unseen, windowAt(60, 200, undefined)], 0.95));
    expect(rows[0]).not.toHaveProperty("inflation");
    expect(rows.at(-1)!.input[7]).toBeCloseTo(0.01, 6);
  });
});
