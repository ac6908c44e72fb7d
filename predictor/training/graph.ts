import * as tf from "@tensorflow/tfjs-core";
import { layoutOf, unitKind } from "../profile/shape.ts";
import type { LayerLayout, NetworkShape } from "../profile/shape.ts";

/** The same network as predictor/profile/network.ts, in TensorFlow operations on one flat parameter vector. */
export interface Graph {
  /**
   * @param parameters flat vector, length of the layout
   * @param inputs rows × inputs, normalised
   * @returns centre and spread heads, one number a row each
   */
  heads(parameters: tf.Tensor1D, inputs: tf.Tensor2D): { centre: tf.Tensor1D; spread: tf.Tensor1D };
  stretchWeight(parameters: tf.Tensor1D): tf.Tensor1D;
  baseWeight(parameters: tf.Tensor1D): tf.Tensor1D;
  dispose(): void;
}

/** Identity whose gradient is zero: what follows learns without moving what came before. */
export function held<T extends tf.Tensor>(x: T): T {
  const identity = tf.customGrad((value) => ({
    value: (value as tf.Tensor).clone(),
    gradFunc: (dy: tf.Tensor | tf.Tensor[]) => tf.zerosLike(dy as tf.Tensor),
  }));
  return identity(x) as T;
}

function kindMask(width: number, kind: number): tf.Tensor1D {
  return tf.tensor1d(Float32Array.from({ length: width }, (_, j) => (unitKind(j) === kind ? 1 : 0)));
}

export function buildGraph(shape: NetworkShape): Graph {
  const layout = layoutOf(shape);
  const masks = shape.hidden.map((width) => [0, 1, 2].map((kind) => kindMask(width, kind)));

  const dense = (parameters: tf.Tensor1D, layer: LayerLayout, input: tf.Tensor2D): tf.Tensor2D => {
    const { from, to, weights, biases } = layer;
    const kernel = tf.reshape(tf.slice(parameters, weights, from * to), [from, to]) as tf.Tensor2D;
    return tf.add(tf.matMul(input, kernel), tf.slice(parameters, biases, to));
  };

  const activate = (values: tf.Tensor2D, depth: number): tf.Tensor2D => {
    if (shape.activation === "relu") return tf.relu(values);
    const [convex, concave, saturating] = masks[depth] as [tf.Tensor1D, tf.Tensor1D, tf.Tensor1D];
    const up = tf.sub(tf.softplus(values), Math.LN2);
    // ln(1 + e^-x) = ln(1 + e^x) - x
    const down = tf.sub(values, up);
    return tf.addN([tf.mul(up, convex), tf.mul(down, concave), tf.mul(tf.tanh(values), saturating)]);
  };

  return {
    heads(parameters, inputs) {
      let current = inputs;
      for (const [depth, layer] of layout.hidden.entries())
        current = activate(dense(parameters, layer, current), depth);
      const centre = tf.squeeze(dense(parameters, layout.centre, current), [1]) as tf.Tensor1D;
      const spread = tf.softplus(
        tf.squeeze(dense(parameters, layout.spread, held(current)), [1]),
      ) as tf.Tensor1D;
      return { centre, spread };
    },
    stretchWeight: (parameters) => tf.slice(parameters, layout.stretchWeight, 1),
    baseWeight: (parameters) => tf.slice(parameters, layout.baseWeight, 1),
    dispose: () => tf.dispose(masks),
  };
}
