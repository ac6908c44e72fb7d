import { PARTS } from "./shape.ts";
import type { LayerName } from "./shape.ts";

/** out = input · weights + biases. */
export function dense(weights: Float64Array, name: LayerName, input: Float64Array, out: Float64Array): void {
  const { columns, from, rows } = PARTS[name];
  const bias = PARTS[`${name}Bias`].from;
  for (let j = 0; j < columns; j += 1) out[j] = weights[bias + j] as number;
  for (let i = 0; i < rows; i += 1) {
    const value = input[i] as number;
    if (value === 0) continue;
    const row = from + i * columns;
    for (let j = 0; j < columns; j += 1) out[j] = (out[j] as number) + value * (weights[row + j] as number);
  }
}
