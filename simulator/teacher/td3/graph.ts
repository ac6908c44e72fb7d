import type { Tensor } from "@tensorflow/tfjs-core";
import { ACTIONS, GLOBALS, LOCALS } from "../teacher-state.ts";
import type { TeacherState } from "../teacher-state.ts";
import type { Tensors } from "./engine.ts";
import { EMBEDDING_PARTS, LAYER_NORM_FLOOR } from "./networks.ts";
import type { Network, Shape } from "./networks.ts";

/** States of a batch, padded to the same number of deployments. */
export interface StateBatch {
  readonly rows: number;
  readonly services: number;
  readonly locals: Tensor;
  readonly globals: Tensor;
  /** 1 for a deployment, 0 for padding: [rows, services, 1]. */
  readonly mask: Tensor;
  readonly counts: Tensor;
}

/** To be called within `tf.tidy`. */
export function stateBatch(tf: Tensors, states: readonly TeacherState[], services: number): StateBatch {
  const rows = states.length;
  const locals = new Float32Array(rows * services * LOCALS);
  const globals = new Float32Array(rows * GLOBALS);
  const mask = new Float32Array(rows * services);
  for (const [i, state] of states.entries()) {
    locals.set(state.locals, i * services * LOCALS);
    globals.set(state.globals, i * GLOBALS);
    mask.fill(1, i * services, i * services + state.services.length);
  }
  return {
    rows,
    services,
    locals: tf.tensor(locals, [rows, services, LOCALS]),
    globals: tf.tensor(globals, [rows, GLOBALS]),
    mask: tf.tensor(mask, [rows, services, 1]),
    counts: tf.tensor(
      states.map((state) => state.services.length),
      [rows, 1],
    ),
  };
}

/** One tensor for each part of a network. */
export const partsOf = (tf: Tensors, { parts }: Network, values: Float32Array): Tensor[] =>
  parts.map(({ from, shape }) => {
    const size = shape.reduce((product, each) => product * each, 1);
    return tf.tensor(values.slice(from, from + size), [...shape]);
  });

/** What each deployment sees: its own numbers and the application's. [rows, services, seen] */
function seen(tf: Tensors, { globals, locals, rows, services }: StateBatch): Tensor {
  const spread = tf.tile(tf.reshape(globals, [rows, 1, GLOBALS]), [1, services, 1]);
  return tf.concat([locals, spread], 2);
}

function layered(tf: Tensors, input: Tensor, parts: readonly Tensor[]): Tensor {
  let row = input;
  for (let at = 0; at < parts.length; at += 4) {
    const [weights, bias, scale, shift] = parts.slice(at, at + 4) as [Tensor, Tensor, Tensor?, Tensor?];
    row = tf.add(tf.matMul(row as never, weights as never), bias);
    if (scale === undefined || shift === undefined) continue;
    const off = tf.sub(row, tf.mean(row, 1, true));
    const variance = tf.mean(tf.mul(off, off), 1, true);
    const normal = tf.mul(off, tf.rsqrt(tf.add(variance, LAYER_NORM_FLOOR)));
    row = tf.relu(tf.add(tf.mul(normal, scale), shift));
  }
  return row;
}

/** π(s): [rows, services, 3], 0 for padding. */
export function policy(tf: Tensors, shape: Shape, parts: readonly Tensor[], batch: StateBatch): Tensor {
  const { mask, rows, services } = batch;
  const all = seen(tf, batch);
  const width = (all.shape[2] ?? 0) * (shape.kind === "flat" ? services : 1);
  const out = tf.tanh(layered(tf, tf.reshape(all, [-1, width]), parts));
  return tf.mul(tf.reshape(out, [rows, services, ACTIONS]), mask);
}

/** Q(s, a): [rows, 1]. */
export function value(
  tf: Tensors,
  shape: Shape,
  parts: readonly Tensor[],
  { actions, states }: { readonly states: StateBatch; readonly actions: Tensor },
): Tensor {
  const { counts, globals, locals, mask, rows, services } = states;
  if (shape.kind === "flat") {
    const all = tf.concat([seen(tf, states), actions], 2);
    return layered(tf, tf.reshape(all, [rows, -1]), parts);
  }
  const [weights, bias] = parts as [Tensor, Tensor];
  const both = tf.reshape(tf.concat([locals, actions], 2), [rows * services, LOCALS + ACTIONS]);
  const embedded = tf.relu(tf.add(tf.matMul(both as never, weights as never), bias));
  // ReLU is never below 0, so padding that is put to 0 changes no maximum.
  const masked = tf.mul(tf.reshape(embedded, [rows, services, -1]), mask);
  const pooled = tf.concat([tf.div(tf.sum(masked, 1), counts), tf.max(masked, 1), globals], 1);
  return layered(tf, pooled, parts.slice(EMBEDDING_PARTS));
}
