import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { emptyNetworkAnswer } from "@tradewind/predictor/models/network/head.ts";
import { LatencyNetwork } from "@tradewind/predictor/models/network/latency-network.ts";
import type { Question } from "@tradewind/predictor/models/network/latency-network.ts";
import { MEDIAN, QUANTILES } from "@tradewind/predictor/models/network/shape.ts";
import { placeBy, randomWeights, stateAfter, windowAt } from "./windows.ts";

const answer = emptyNetworkAnswer();
const worse = emptyNetworkAnswer();

describe("a latency network of any weights", () => {
  it("has quantiles that never cross", () => {
    const rng = seededRng(2);
    const network = new LatencyNetwork(randomWeights(3, 0.2));
    const state = stateAfter(network, 12, 3);
    for (let i = 0; i < 500; i += 1) {
      network.at(state, placeBy(rng), answer);
      for (let q = 1; q < QUANTILES.length; q += 1)
        expect(answer.logs[q]).toBeGreaterThanOrEqual(answer.logs[q - 1] ?? Number.NaN);
    }
  });

  it("has slopes in closed form that are those of its answers", () => {
    const rng = seededRng(4);
    const step = 1e-6;
    const median = (
      network: LatencyNetwork,
      state: ReturnType<typeof stateAfter>,
      question: Question,
    ): number => {
      network.at(state, question, worse);
      return worse.logs[MEDIAN] ?? Number.NaN;
    };
    const errors: number[] = [];
    for (let round = 0; round < 200; round += 1) {
      const network = new LatencyNetwork(randomWeights(round, 0.15));
      const state = stateAfter(network, 10, round);
      const place = placeBy(rng);
      const at = (name: "cpuCores" | "loadPerContainer" | "memoryScale", by: number): number =>
        median(network, state, { ...place, [name]: place[name] * Math.exp(by) });
      network.at(state, place, answer);
      for (const [name, slope] of [
        ["cpuCores", answer.byCores],
        ["loadPerContainer", answer.byLoad],
        ["memoryScale", answer.byMemory],
      ] as const) {
        const difference = (at(name, step) - at(name, -step)) / (2 * step);
        errors.push(Math.abs(difference - slope) / Math.max(1, Math.abs(slope)));
      }
    }
    expect(errors).toHaveLength(600);
    expect(Math.max(...errors)).toBeLessThan(1e-6);
  });

  it("knows nothing before windows, and is ready once CPU and latency were seen in three", () => {
    const network = new LatencyNetwork(randomWeights(5, 0.1));
    expect(network.isReady(network.empty())).toBe(false);
    expect(network.isReady(stateAfter(network, 2, 1))).toBe(false);
    expect(network.isReady(stateAfter(network, 4, 1))).toBe(true);
  });

  it("answers the same from a state that was stored as JSON", () => {
    const network = new LatencyNetwork(randomWeights(6, 0.1));
    const state = stateAfter(network, 9, 2);
    network.at(state, { cpuCores: 1, loadPerContainer: 80 }, answer);
    const stored = JSON.parse(JSON.stringify(state)) as typeof state;
    network.at(
      stored,
      { cpuCores: 1, loadPerContainer: 80, interference: state.surroundings.interference },
      worse,
    );
    expect([...worse.logs]).toEqual([...answer.logs]);
  });

  it.each([
    ["nothing but a time", { atMs: 0, windowSeconds: 15, cpuCores: undefined }],
    [
      "zeros",
      { ...windowAt(0, 10, 1).observation, cpuUsageCores: 0, p95Seconds: 0, calls: 0, loadPerContainer: 0 },
    ],
    [
      "numbers that are none",
      {
        ...windowAt(0, 10, 1).observation,
        p95Seconds: Number.NaN,
        cpuUsageCores: Infinity,
        p50Seconds: Number.NaN,
      },
    ],
    [
      "units of another world",
      {
        ...windowAt(0, 10, 1).observation,
        cpuUsageCores: 1e9,
        loadPerContainer: 1e7,
        calls: 1e9,
        p95Seconds: 1e6,
      },
    ],
  ])("stays finite after a window of %s", (_, observation) => {
    const network = new LatencyNetwork(randomWeights(7, 0.2));
    let state = stateAfter(network, 6, 7);
    for (let i = 0; i < 3; i += 1)
      state = network.after(state, {
        observation,
        surroundings: { memoryRatio: Number.NaN, interference: [] },
      });
    network.at(state, { cpuCores: 1, loadPerContainer: 50 }, answer);
    expect([...answer.logs, answer.byCores, answer.byLoad, answer.byMemory].every(Number.isFinite)).toBe(
      true,
    );
  });

  it("refuses weights of another network", () => {
    expect(() => new LatencyNetwork(new Float64Array(10))).toThrow(RangeError);
  });
});
