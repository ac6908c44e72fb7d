import * as tf from "@tensorflow/tfjs-core";
import { layoutOf } from "../profile/shape.ts";
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
}

/** Identity whose gradient is zero: what follows learns without moving what came before. */
export function held<T extends tf.Tensor>(x: T): T {
  const identity = tf.customGrad((value) => ({
    value: (value as tf.Tensor).clone(),
    gradFunc: (dy: tf.Tensor | tf.Tensor[]) => tf.zerosLike(dy as tf.Tensor),
  }));
  return identity(x) as T;
}

export function buildGraph(shape: NetworkShape): Graph {
  const layout = layoutOf(shape);

  const dense = (parameters: tf.Tensor1D, layer: LayerLayout, input: tf.Tensor2D): tf.Tensor2D => {
    const { from, to, weights, biases } = layer;
    const kernel = tf.reshape(tf.slice(parameters, weights, from * to), [from, to]) as tf.Tensor2D;
    return tf.add(tf.matMul(input, kernel), tf.slice(parameters, biases, to));
  };

  const activate = (values: tf.Tensor2D): tf.Tensor2D =>
    shape.activation === "relu" ? tf.relu(values) : tf.tanh(values);

  return {
    heads(parameters, inputs) {
      let current = inputs;
      for (const layer of layout.hidden) current = activate(dense(parameters, layer, current));
      const centre = tf.squeeze(dense(parameters, layout.centre, current), [1]) as tf.Tensor1D;
      const spread = tf.softplus(
        tf.squeeze(dense(parameters, layout.spread, held(current)), [1]),
      ) as tf.Tensor1D;
      return { centre, spread };
    },
    stretchWeight: (parameters) => tf.slice(parameters, layout.stretchWeight, 1),
    baseWeight: (parameters) => tf.slice(parameters, layout.baseWeight, 1),
  };
}
