/** Direction in which the output may move with an input: +1 never falls, −1 never rises, 0 free. */
export type Direction = -1 | 0 | 1;

/** `tanh`: saturating units; `relu`: rectified linear, as in Grad. */
export type Activation = "tanh" | "relu";

/** Shape of one network: inputs, hidden layers, and two heads on the last hidden layer (centre, spread). */
export interface NetworkShape {
  readonly inputs: number;
  readonly hidden: readonly number[];
  readonly activation: Activation;
}

/** One dense layer inside the flat parameter vector: weights row by row (`[from][to]`), then biases. */
export interface LayerLayout {
  readonly from: number;
  readonly to: number;
  readonly weights: number;
  readonly biases: number;
}

/** Where each layer's numbers lie; the last two layers are the centre head and the spread head, one unit each. */
export interface Layout {
  readonly hidden: readonly LayerLayout[];
  readonly centre: LayerLayout;
  readonly spread: LayerLayout;
  /** Weight of ln stretch(utilisation). */
  readonly stretchWeight: number;
  /** Weight of ln (base latency / typical base latency). */
  readonly baseWeight: number;
  readonly length: number;
}

export function layoutOf(shape: NetworkShape): Layout {
  let offset = 0;
  const layer = (from: number, to: number): LayerLayout => {
    const placed = { from, to, weights: offset, biases: offset + from * to };
    offset += from * to + to;
    return placed;
  };
  const hidden = shape.hidden.map((to, i) => layer(i === 0 ? shape.inputs : (shape.hidden[i - 1] ?? 0), to));
  const last = shape.hidden.at(-1) ?? shape.inputs;
  const centre = layer(last, 1);
  const spread = layer(last, 1);
  return { hidden, centre, spread, stretchWeight: offset, baseWeight: offset + 1, length: offset + 2 };
}

/**
 * The sign every parameter is held to, 0 where it is free. First-layer weights take their input's direction, later ones
 * on the way to the centre are not negative; as every activation rises, the centre then moves in each input's direction
 * (Daniels and Velikova, "Monotone and partially monotone neural networks", 2010: with two or more hidden layers of
 * saturating units such networks come as close as wanted to any monotone function). Biases, the spread head and the
 * first-layer weights of inputs with direction 0 are free.
 */
export function parameterSigns(
  shape: NetworkShape,
  directions: readonly Direction[],
  monotone: boolean,
): Int8Array {
  const layout = layoutOf(shape);
  const signs = new Int8Array(layout.length);
  if (!monotone) return signs;
  for (const [depth, { from, to, weights }] of layout.hidden.entries()) {
    for (let i = 0; i < from; i += 1)
      signs.fill(depth === 0 ? (directions[i] ?? 0) : 1, weights + i * to, weights + (i + 1) * to);
  }
  signs.fill(1, layout.centre.weights, layout.centre.biases);
  signs[layout.stretchWeight] = 1;
  signs[layout.baseWeight] = 1;
  return signs;
}
