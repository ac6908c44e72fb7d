import * as tf from "@tensorflow/tfjs-core";
import { attentionLayout, FEATURES_PER_SERVICE } from "../endtoend/attention-model.ts";
import type { AttentionShape } from "../endtoend/attention-model.ts";

/**
 * The same residual as predictor/endtoend/attention.ts, in TensorFlow operations on one flat parameter vector.
 * @param features rows × services × 2, scaled
 * @returns log residual of each row
 */
export function attentionResiduals(
  shape: AttentionShape,
  bound: number,
  parameters: tf.Tensor1D,
  features: tf.Tensor3D,
): tf.Tensor1D {
  const { services, width, hidden } = shape;
  const layout = attentionLayout(shape);
  const rows = features.shape[0];
  const part = (from: number, height: number, breadth: number): tf.Tensor2D =>
    tf.reshape(tf.slice(parameters, from, height * breadth), [height, breadth]);
  const table = tf.reshape(features, [rows * services, FEATURES_PER_SERVICE]);
  const project = (from: number): tf.Tensor3D =>
    tf.reshape(tf.matMul(table, part(from, FEATURES_PER_SERVICE, width)), [rows, services, width]);
  const scores = tf.mul(
    tf.matMul(project(layout.query), project(layout.key), false, true),
    1 / Math.sqrt(width),
  );
  const attended = tf.reshape(tf.matMul(tf.softmax(scores), project(layout.value)), [rows, services * width]);
  const bent = tf.tanh(
    tf.add(
      tf.matMul(attended as tf.Tensor2D, part(layout.hiddenWeights, services * width, hidden)),
      tf.slice(parameters, layout.hiddenBiases, hidden),
    ),
  );
  const out = tf.add(
    tf.matMul(bent as tf.Tensor2D, part(layout.outWeights, hidden, 1)),
    tf.slice(parameters, layout.outBias, 1),
  );
  return tf.mul(tf.tanh(tf.reshape(out, [rows])), bound) as tf.Tensor1D;
}
