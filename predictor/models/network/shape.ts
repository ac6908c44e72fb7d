/** Quantiles of ln self-time p95 that the network answers. */
export const QUANTILES = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95] as const;
export const MEDIAN = 3;
/** Places of the quantiles that hold the middle 80 %. */
export const MIDDLE_80 = [1, 5] as const;

/** Numbers that a window is, and a place in the head; see window-inputs.ts and place-inputs.ts. */
export const WINDOW_INPUTS = 61;
export const ANCHOR_INPUTS = 4;
export const PLACE_INPUTS = 14;
/** Capacities that the state estimates; each is two numbers of a place. */
export const CAPACITIES = 3;
export const HEAD_INPUTS = PLACE_INPUTS + 2 * CAPACITIES;

/** Units of the layers; channels of each of the two fading sums; units of the head. */
export const HIDDEN = 64;
export const CHANNELS = 48;
export const HEAD = 32;

/** Windows over which each channel forgets. */
const MEMORIES = [1, 2, 4, 8, 16, 32, 64, 256] as const;
export const GROUPS = MEMORIES.length;
export const GROUP = CHANNELS / GROUPS;
/** What of a sum is left after a window, by group of channels. */
export const KEPT: readonly number[] = MEMORIES.map((windows) => Math.exp(-1 / windows));
/** What of an anchor is left after a window. */
export const ANCHOR_KEPT = 0.9;
/** Attention is exp of a number within this. */
export const LOUDEST = 4;
/** Keeps an empty sum from dividing by nothing. */
export const LEAST_SUM = 1e-3;

/** A matrix [inputs, units] or a vector within the one vector of all weights. */
export interface Part {
  readonly from: number;
  readonly rows: number;
  readonly columns: number;
}

/** Every layer by its name: weights, then biases under the same name with `Bias`. */
const LAYERS = {
  first: [WINDOW_INPUTS, HIDDEN],
  second: [HIDDEN, HIDDEN],
  shortSum: [HIDDEN, 2 * CHANNELS],
  third: [HIDDEN + CHANNELS, HIDDEN],
  longSum: [HIDDEN, 2 * CHANNELS],
  fourth: [WINDOW_INPUTS + 2 * CHANNELS + ANCHOR_INPUTS, HIDDEN],
  context: [HIDDEN, HIDDEN],
  capacities: [HIDDEN, 2 * CAPACITIES],
  lowBias: [HIDDEN, HEAD],
  lowGate: [HIDDEN, HEAD],
  highBias: [HIDDEN, HEAD],
  highGate: [HIDDEN, HEAD],
  levels: [HIDDEN, QUANTILES.length],
} as const;
/** Matrices of the head: what is used of them is softplus of each number, so that no weight is below 0. */
const POSITIVE = {
  low: [HEAD_INPUTS, HEAD],
  high: [HEAD, HEAD],
  out: [HEAD, QUANTILES.length],
} as const;

export type LayerName = keyof typeof LAYERS;
export type PositiveName = keyof typeof POSITIVE;
export type PartName = LayerName | `${LayerName}Bias` | PositiveName;

function placed(): { readonly parts: Readonly<Record<PartName, Part>>; readonly size: number } {
  const parts: Partial<Record<PartName, Part>> = {};
  let from = 0;
  const add = (name: PartName, rows: number, columns: number): void => {
    parts[name] = { from, rows, columns };
    from += rows * columns;
  };
  for (const [name, [rows, columns]] of Object.entries(LAYERS) as [LayerName, [number, number]][]) {
    add(name, rows, columns);
    add(`${name}Bias`, 1, columns);
  }
  for (const [name, [rows, columns]] of Object.entries(POSITIVE) as [PositiveName, [number, number]][])
    add(name, rows, columns);
  return { parts: parts as Record<PartName, Part>, size: from };
}

const { parts, size } = placed();
export const PARTS = parts;
export const WEIGHT_COUNT = size;
export const PART_NAMES = Object.keys(PARTS) as PartName[];
