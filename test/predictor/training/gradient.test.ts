import * as tf from "@tensorflow/tfjs-core";
import { seededRng } from "@tradewind/core/rng.ts";
import { INPUT_COUNT } from "@tradewind/predictor/profile/inputs.ts";
import { ALL_ON, shapeOf } from "@tradewind/predictor/profile/model.ts";
import type { ProfileModel } from "@tradewind/predictor/profile/model.ts";
import { NetworkEvaluator } from "@tradewind/predictor/profile/network.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { layoutOf } from "@tradewind/predictor/profile/shape.ts";
import { buildGraph } from "@tradewind/predictor/training/graph.ts";
import { expect, it } from "vitest";
import { randomInput, randomModel } from "../profile/random-model.ts";
import { describeEngines } from "./engines.ts";

/** The whole profile in TensorFlow operations, inputs in units of `scales` so that 32-bit floats hold them alike. */
function profileInTensors(model: ProfileModel, scales: readonly number[]) {
  const graph = buildGraph(shapeOf(model));
  return (scaled: tf.Tensor): tf.Tensor => {
    const inputs = tf.mul(scaled, scales);
    const at = (i: number): tf.Tensor => tf.slice(inputs, [i], [1]);
    const used = tf.div(tf.mul(at(2), at(7)), at(0));
    const logBase = tf.log(at(8));
    const lows = model.spans.map(({ low }) => low);
    const widths = model.spans.map(({ low, high }) => (high > low ? 1 / (high - low) : 0));
    const raw = model.switches.prior
      ? tf.concat([tf.slice(inputs, [0], [7]), used, logBase])
      : tf.slice(inputs, [0], [7]);
    const normalised = tf.clipByValue(tf.mul(tf.sub(raw, lows), widths), 0, 1);
    const centres = model.members.map(
      (parameters) =>
        graph.heads(tf.tensor1d(Float32Array.from(parameters)), tf.reshape(normalised, [1, -1])).centre,
    );
    const network = tf.div(tf.addN([...centres]), centres.length);
    const inside = tf.neg(tf.log1p(tf.neg(used)));
    const beyond = tf.log(tf.add(20, tf.mul(tf.sub(used, 0.95), 400)));
    const isInside = used.dataSync()[0]! <= 0.95;
    const { stretchWeight, baseWeight } = layoutOf(shapeOf(model));
    const [parameters] = model.members;
    const typical = Math.log(model.baseSeconds);
    const prior = tf.add(
      tf.mul(tf.sub(logBase, typical), parameters![baseWeight]!),
      tf.mul(
        isInside ? inside : tf.add(0.75 * Math.log(20), tf.mul(beyond, 0.25)),
        parameters![stretchWeight]!,
      ),
    );
    const log = tf.add(model.switches.prior ? tf.add(prior, typical) : typical, network);
    return tf.sum(tf.exp(log));
  };
}

describeEngines("closed form", () => {
  it.each([
    ["everything on", ALL_ON],
    ["no prior", { ...ALL_ON, prior: false }],
    ["signs not held", { ...ALL_ON, monotone: false }],
  ])("equals tf.grad within 1e-6 of the value over random networks and inputs: %s", (_, switches) => {
    for (let seed = 0; seed < 60; seed += 1) {
      const rng = seededRng(seed);
      const model = randomModel(rng, switches, 1);
      const input = randomInput(rng);
      // 32-bit floats cannot hold 1 - utilisation to 1e-6 just below saturation: stay off it.
      const used = (input[2]! * input[7]!) / input[0]!;
      if (used > 0.8 && used < 0.96) input[2] = input[2]! * 0.7;
      const gradient = new Float64Array(INPUT_COUNT);
      const value = new TrainedProfile(model).evaluate(input, gradient);
      const scales = Array.from(input, (each) => (each === 0 ? 1 : each));
      const scaled = Float32Array.from(input, (each, i) => each / scales[i]!);
      // addN has no gradient in TensorFlow.js; one member needs no sum.
      tf.tidy(() => {
        const ofTensors = tf.grad(profileInTensors(model, scales))(tf.tensor1d(scaled)).dataSync();
        const size = gradient.reduce((sum, slope, i) => sum + Math.abs(slope * scales[i]!), value);
        for (let i = 0; i < INPUT_COUNT; i += 1) {
          expect(Math.abs(ofTensors[i]! - gradient[i]! * scales[i]!) / size).toBeLessThan(1e-6);
        }
      });
    }
  });

  it("equals central differences of its own value", () => {
    for (let seed = 100; seed < 140; seed += 1) {
      const rng = seededRng(seed);
      const profile = new TrainedProfile(randomModel(rng));
      const input = randomInput(rng);
      const gradient = new Float64Array(INPUT_COUNT);
      const value = profile.evaluate(input, gradient);
      for (let i = 0; i < INPUT_COUNT; i += 1) {
        if (i === 5) continue;
        const step = input[i]! * 1e-6;
        const up = input.slice();
        const down = input.slice();
        up[i] = up[i]! + step;
        down[i] = down[i]! - step;
        const slope = (profile.evaluate(up) - profile.evaluate(down)) / (2 * step);
        expect(Math.abs(slope - gradient[i]!) * input[i]!).toBeLessThan(
          1e-6 * (value + Math.abs(slope * input[i]!)),
        );
      }
    }
  });

  it("gives the same heads as the TensorFlow graph", () => {
    const model = randomModel(seededRng(5), ALL_ON, 1);
    const shape = shapeOf(model);
    const parameters = model.members[0]!;
    expect(parameters.length).toBe(layoutOf(shape).length);
    const input = Float64Array.from({ length: shape.inputs }, (_, i) => Math.fround(0.1 * i));
    const evaluator = new NetworkEvaluator({ shape, parameters });
    evaluator.forward(input);
    const graph = buildGraph(shape);
    const [centre, spread] = tf.tidy(() => {
      const heads = graph.heads(
        tf.tensor1d(Float32Array.from(parameters)),
        tf.tensor2d(Float32Array.from(input), [1, shape.inputs]),
      );
      return [heads.centre.dataSync()[0]!, heads.spread.dataSync()[0]!] as const;
    });
    expect(centre).toBeCloseTo(evaluator.centre, 5);
    expect(spread).toBeCloseTo(evaluator.spread, 5);
  });
});
