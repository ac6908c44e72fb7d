import * as tf from "@tensorflow/tfjs-core";
import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { AttentionResidual } from "@tradewind/predictor/endtoend/attention.ts";
import { attentionShape } from "@tradewind/predictor/endtoend/attention-model.ts";
import { attentionResiduals } from "@tradewind/predictor/training/attention-graph.ts";
import { endToEndRows } from "@tradewind/predictor/training/end-to-end-rows.ts";
import type { EndToEndRow } from "@tradewind/predictor/training/end-to-end-rows.ts";
import { splitRows, trainEndToEnd } from "@tradewind/predictor/training/train-end-to-end.ts";
import { describe, expect, it } from "vitest";
import { call, flowOf } from "../endtoend/random-application.ts";
import { randomResidual, randomTails } from "../endtoend/random-residual.ts";
import { describeEngines } from "./engines.ts";

describeEngines("closed form of the residual", () => {
  it("equals TensorFlow's value and tf.grad within 1e-6 over random weights and own tails", () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const rng = seededRng(seed);
      const count = 1 + (seed % 6);
      const model = randomResidual(count, rng);
      const tails = randomTails(count, rng);
      const residual = new AttentionResidual(model);
      const value = residual.evaluate(tails);
      const gradient = new Float64Array(count);
      residual.addGradient(1, gradient);
      const [ofTensors, valueOfTensors] = tf.tidy(() => {
        const parameters = tf.tensor1d(Float32Array.from(model.parameters));
        const centres = model.scales.map(({ centre }) => centre);
        const widths = model.scales.map(({ scale }) => scale);
        // In ln seconds, so that 32-bit floats hold what they are given.
        const inTensors = (logs: tf.Tensor): tf.Tensor => {
          const both = tf.reshape(tf.stack([logs, logs], 1), [1, -1]);
          const features = tf.div(tf.sub(both, tf.tensor1d(centres)), tf.tensor1d(widths));
          const shaped = tf.reshape(features, [1, count, 2]) as tf.Tensor3D;
          return attentionResiduals(attentionShape(model), model.bound, parameters, shaped);
        };
        const logs = tf.tensor1d(Float32Array.from(tails, (tail) => Math.log(tail)));
        return [tf.grad(inTensors)(logs).dataSync(), inTensors(logs).dataSync()[0]!] as const;
      });
      expect(Math.abs(valueOfTensors - value)).toBeLessThan(1e-6);
      // Slopes by ln seconds, compared in units of their size.
      const slopes = gradient.map((slope, service) => slope * tails[service]!);
      const size = slopes.reduce((sum, slope) => sum + Math.abs(slope), Math.abs(value));
      for (const [service, slope] of slopes.entries()) {
        expect(Math.abs(ofTensors[service]! - slope) / Math.max(1, size)).toBeLessThan(1e-6);
      }
    }
  });
});

/** Rows of two services whose tail is the call graph's times a factor of their own tails, with noise. */
function rowsOf(count: number, factor: (a: number, b: number) => number, seed: number): EndToEndRow[] {
  const rng = seededRng(seed);
  return Array.from({ length: count }, (_, at) => {
    const ownTails = randomTails(2, rng);
    const [a = 0, b = 0] = ownTails;
    const priorSeconds = a + b;
    const noise = Math.exp(0.03 * standardNormal(rng));
    return { atMs: at * 15_000, ownTails, priorSeconds, tailSeconds: priorSeconds * factor(a, b) * noise };
  });
}

const job = { flow: "GET /", percentile: 0.95, services: ["s0", "s1"], current: undefined, nowMs: 5 };

describeEngines("training a residual", () => {
  it("learns what the call graph leaves out, and frees every tensor", () => {
    const before = tf.memory().numTensors;
    const outcome = trainEndToEnd(
      {
        ...job,
        rows: rowsOf(300, (a, b) => 1 + (0.8 * a) / (a + b), 11),
        settings: { maxSteps: 250, starts: 1 },
      },
      seededRng(1),
    );
    expect(tf.memory().numTensors).toBe(before);
    expect(outcome.kind).toBe("replaced");
    if (outcome.kind !== "replaced") return;
    expect(outcome.model.errors.meanAbsoluteRatio).toBeLessThan(0.08);
    expect(outcome.model.errors.priorAbsoluteRatio).toBeGreaterThan(0.2);
    expect(outcome.model.version).toBe(1);
  });

  it("leaves the call graph alone where that is right already", () => {
    const outcome = trainEndToEnd(
      { ...job, rows: rowsOf(300, () => 1, 12), settings: { maxSteps: 30, starts: 1, learningRate: 0.1 } },
      seededRng(1),
    );
    expect(outcome.kind).toBe("kept");
  });

  it("does not begin with too few rows", () => {
    const outcome = trainEndToEnd({ ...job, rows: rowsOf(50, () => 2, 13) }, seededRng(1));
    expect(outcome).toEqual({ kind: "too-few-rows", rows: 50, needed: 94 });
  });

  it("judges on rows later than all that trained or stopped, and uses none twice", () => {
    const rows = rowsOf(200, () => 1, 14);
    const { train, stop, later } = splitRows(rows);
    expect(train.length + stop.length + later.length).toBe(200);
    expect(new Set([...train, ...stop, ...later]).size).toBe(200);
    const last = Math.max(...[...train, ...stop].map(({ atMs }) => atMs));
    expect(later.every(({ atMs }) => atMs > last)).toBe(true);
    expect(stop.length).toBeGreaterThan(20);
  });
});

describe("rows of stored windows", () => {
  const latency = { count: 100, meanSeconds: 0.02, p50Seconds: 0.018, p95Seconds: 0.05, p99Seconds: 0.09 };
  const window = (service: string) => ({
    namespace: "default",
    service,
    startMs: 0,
    endMs: 15_000,
    ownLatency: latency,
    callees: [],
    containers: [],
  });
  const flow = { ...flowOf([call("s0", "s1")]), latency: { ...latency, p95Seconds: 0.11, p99Seconds: 0.2 } };

  it("take the tail at the objective's percentile, and what the graph says of it", () => {
    const set = { startMs: 0, endMs: 15_000, windows: [window("s0"), window("s1")], flows: [flow] };
    const [row] = endToEndRows([set], "GET /", ["s0", "s1"], 0.99);
    expect(row).toMatchObject({ atMs: 15_000, tailSeconds: 0.2 });
    // Two alike in a row, mean 0.4 of the tail: mean 0.04, variance 2·(0.324158·0.05)² = 5.2539e-4, σ² = ln(1 + 0.32837) = 0.283953.
    expect(row!.priorSeconds).toBeCloseTo(0.04 * Math.exp(1.644854 * Math.sqrt(0.283953) - 0.283953 / 2), 6);
  });

  it("leave out windows without enough requests, and do without a service that was not measured", () => {
    const few = { ...flow, latency: { ...flow.latency, count: 19 } };
    const set = { startMs: 0, endMs: 15_000, windows: [window("s0")], flows: [flow] };
    const rows = endToEndRows([{ ...set, flows: [few] }, set], "GET /", ["s0", "s1"], 0.95);
    expect(rows).toHaveLength(1);
    expect([...rows[0]!.ownTails]).toEqual([0.05, Number.NaN]);
  });
});
