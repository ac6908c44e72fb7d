import { standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { ACTIONS, GLOBALS, LOCALS } from "../teacher-state.ts";

/** Numbers that a policy sees of one deployment: its own and the application's. */
export const SEEN = LOCALS + GLOBALS;
/** Units that a deployment and its action are embedded in, for the critic. */
const EMBEDDING = 64;
/** Keeps LayerNorm from dividing by nothing where all units agree. */
export const LAYER_NORM_FLOOR = 1e-5;

/**
 * `shared`: one policy for every deployment, and critics that pool over deployments, so that size does not grow with their number.
 * `flat`: one policy for all deployments of one application at once, as the paper's, with a fixed number of them.
 */
export type Shape =
  | { readonly kind: "shared"; readonly layers: readonly number[] }
  | { readonly kind: "flat"; readonly layers: readonly number[]; readonly services: number };

/** One matrix or vector within the one vector of a network's parameters. */
export interface Part {
  readonly from: number;
  readonly shape: readonly number[];
  /** Inputs of a unit of a weight matrix; absent: a bias or a shift, which begins at 0. */
  readonly fan?: number;
  readonly isScale?: true;
}

/** Layers of a network, LayerNorm and ReLU after each but the last, of which each has weights, biases and (but the last) scale and shift. */
export interface Network {
  readonly parts: readonly Part[];
  readonly size: number;
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, each) => product * each, 1);

function network(widths: readonly number[], before: readonly Omit<Part, "from">[] = []): Network {
  const parts: Omit<Part, "from">[] = [...before];
  for (let at = 1; at < widths.length; at += 1) {
    const [fan = 1, units = 1] = [widths[at - 1], widths[at]];
    parts.push({ shape: [fan, units], fan }, { shape: [units] });
    if (at < widths.length - 1) parts.push({ shape: [units], isScale: true }, { shape: [units] });
  }
  let from = 0;
  const placed: Part[] = [];
  for (const part of parts) {
    placed.push({ ...part, from });
    from += sizeOf(part.shape);
  }
  return { parts: placed, size: from };
}

export function actorNetwork(shape: Shape): Network {
  const count = shape.kind === "flat" ? shape.services : 1;
  return network([SEEN * count, ...shape.layers, ACTIONS * count]);
}

/** Parts of the embedding, which come first in a shared critic. */
export const EMBEDDING_PARTS = 2;

export function criticNetwork(shape: Shape): Network {
  if (shape.kind === "flat") return network([(SEEN + ACTIONS) * shape.services, ...shape.layers, 1]);
  const fan = LOCALS + ACTIONS;
  return network(
    [2 * EMBEDDING + GLOBALS, ...shape.layers, 1],
    [{ shape: [fan, EMBEDDING], fan }, { shape: [EMBEDDING] }],
  );
}

/** He's start; an actor's last layer is small, so that it begins by keeping what is. */
export function drawn({ parts, size }: Network, rng: Rng, lastScale = 1): Float32Array {
  const values = new Float32Array(size);
  const lastWeights = parts.findLast(({ fan }) => fan !== undefined);
  for (const part of parts) {
    const { fan, from, isScale, shape } = part;
    const length = sizeOf(shape);
    if (isScale === true) values.fill(1, from, from + length);
    if (fan === undefined) continue;
    const scale = Math.sqrt(2 / fan) * (part === lastWeights ? lastScale : 1);
    for (let i = from; i < from + length; i += 1) values[i] = standardNormal(rng) * scale;
  }
  return values;
}

/** One row through an actor, by closed form. @returns actions in [-1, 1] */
export function actorRow({ parts }: Network, values: Float32Array, input: Float32Array): Float32Array {
  let row = input;
  for (let at = 0; at < parts.length; at += 4) {
    const [weights, bias, scale, shift] = parts.slice(at, at + 4) as [Part, Part, Part?, Part?];
    const out = dense(values, weights, bias, row);
    if (scale !== undefined && shift !== undefined) normalise(out, values, scale.from, shift.from);
    row = out;
  }
  return row.map((value) => Math.tanh(value));
}

function dense(values: Float32Array, weights: Part, bias: Part, row: Float32Array): Float32Array {
  const units = weights.shape[1] ?? 0;
  const out = values.slice(bias.from, bias.from + units);
  for (let i = 0; i < row.length; i += 1) {
    const value = row[i] as number;
    if (value === 0) continue;
    const from = weights.from + i * units;
    for (let unit = 0; unit < units; unit += 1)
      out[unit] = (out[unit] as number) + value * (values[from + unit] as number);
  }
  return out;
}

function normalise(row: Float32Array, values: Float32Array, scale: number, shift: number): void {
  let mean = 0;
  for (const value of row) mean += value / row.length;
  let variance = 0;
  for (const value of row) variance += (value - mean) ** 2 / row.length;
  const deviation = Math.sqrt(variance + LAYER_NORM_FLOOR);
  for (let i = 0; i < row.length; i += 1) {
    const normal = ((row[i] as number) - mean) / deviation;
    row[i] = Math.max(0, normal * (values[scale + i] as number) + (values[shift + i] as number));
  }
}
