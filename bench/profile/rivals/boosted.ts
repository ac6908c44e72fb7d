import { mean } from "@tradewind/core/values/statistics.ts";

/** Gradient-boosted regression trees on histograms, squared loss: the shape of the well-known packages, in their default size. */

export interface BoostedOptions {
  readonly trees: number;
  readonly learningRate: number;
  readonly maxLeaves: number;
  readonly minSamplesLeaf: number;
  readonly l2: number;
}

/** Defaults of scikit-learn's histogram gradient boosting (100 trees of 31 leaves, 20 samples a leaf, rate 0.1). */
export const BOOSTED_DEFAULTS: BoostedOptions = {
  trees: 100,
  learningRate: 0.1,
  maxLeaves: 31,
  minSamplesLeaf: 20,
  l2: 0,
};

const BINS = 255;

interface Split {
  readonly feature: number;
  readonly bin: number;
  readonly gain: number;
}

interface Leaf {
  node: number;
  readonly rows: Int32Array;
  readonly sum: number;
  readonly split: Split | undefined;
}

/** A tree in parallel arrays: inner nodes have a feature, leaves have feature -1 and a value. */
interface Tree {
  readonly feature: number[];
  readonly threshold: number[];
  readonly left: number[];
  readonly right: number[];
  readonly value: number[];
}

/** Upper edges of at most 255 bins of near equal counts. */
function binEdges(values: Float64Array): Float64Array {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  if (sorted.length <= BINS) {
    return Float64Array.from(sorted.slice(0, -1), (value, i) => (value + (sorted[i + 1] ?? value)) / 2);
  }
  const all = Float64Array.from(values).sort();
  const edges = new Set<number>();
  for (let i = 1; i < BINS; i += 1) edges.add(all[Math.floor((i * all.length) / BINS)] ?? 0);
  return Float64Array.from([...edges].sort((a, b) => a - b));
}

function binOf(value: number, edges: Float64Array): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value <= (edges[middle] ?? Infinity)) high = middle;
    else low = middle + 1;
  }
  return low;
}

class Grower {
  readonly #bins: Uint8Array[];
  readonly #edges: Float64Array[];
  readonly #options: BoostedOptions;

  constructor(features: readonly Float64Array[], options: BoostedOptions) {
    this.#edges = features.map(binEdges);
    this.#bins = features.map((column, f) =>
      Uint8Array.from(column, (value) => binOf(value, this.#edges[f] ?? new Float64Array())),
    );
    this.#options = options;
  }

  /** Grows the leaf with the largest gain first, as the histogram packages do. */
  grow(residuals: Float64Array): Tree {
    const tree: Tree = { feature: [], threshold: [], left: [], right: [], value: [] };
    const rows = Int32Array.from(residuals.keys());
    const leaves = [this.#leaf(tree, rows, residuals)];
    while (leaves.length < this.#options.maxLeaves) {
      let best = -1;
      for (const [i, leaf] of leaves.entries()) {
        if (leaf.split !== undefined && leaf.split.gain > (leaves[best]?.split?.gain ?? 1e-12)) best = i;
      }
      const chosen = leaves[best];
      if (chosen?.split === undefined) break;
      leaves.splice(best, 1, ...this.#divide(tree, chosen, chosen.split, residuals));
    }
    return tree;
  }

  #divide(tree: Tree, leaf: Leaf, split: Split, residuals: Float64Array): Leaf[] {
    const bins = this.#bins[split.feature] ?? new Uint8Array();
    const left = leaf.rows.filter((row) => (bins[row] ?? 0) <= split.bin);
    const right = leaf.rows.filter((row) => (bins[row] ?? 0) > split.bin);
    const leaves = [this.#leaf(tree, left, residuals), this.#leaf(tree, right, residuals)];
    tree.feature[leaf.node] = split.feature;
    tree.threshold[leaf.node] = this.#edges[split.feature]?.[split.bin] ?? Infinity;
    tree.left[leaf.node] = leaves[0]?.node ?? -1;
    tree.right[leaf.node] = leaves[1]?.node ?? -1;
    return leaves;
  }

  #leaf(tree: Tree, rows: Int32Array, residuals: Float64Array): Leaf {
    let sum = 0;
    for (const row of rows) sum += residuals[row] ?? 0;
    const node = tree.feature.length;
    tree.feature.push(-1);
    tree.threshold.push(0);
    tree.left.push(-1);
    tree.right.push(-1);
    tree.value.push((this.#options.learningRate * sum) / (rows.length + this.#options.l2));
    return { node, rows, sum, split: this.#bestSplit(rows, residuals, sum) };
  }

  #bestSplit(rows: Int32Array, residuals: Float64Array, sum: number): Split | undefined {
    const { minSamplesLeaf, l2 } = this.#options;
    if (rows.length < 2 * minSamplesLeaf) return undefined;
    const whole = (sum * sum) / (rows.length + l2);
    let best: Split | undefined;
    for (const [feature, bins] of this.#bins.entries()) {
      const sums = new Float64Array(BINS + 1);
      const counts = new Int32Array(BINS + 1);
      for (const row of rows) {
        const bin = bins[row] ?? 0;
        sums[bin] = (sums[bin] ?? 0) + (residuals[row] ?? 0);
        counts[bin] = (counts[bin] ?? 0) + 1;
      }
      let leftSum = 0;
      let leftCount = 0;
      for (let bin = 0; bin < BINS; bin += 1) {
        leftSum += sums[bin] ?? 0;
        leftCount += counts[bin] ?? 0;
        const rightCount = rows.length - leftCount;
        if (leftCount < minSamplesLeaf) continue;
        if (rightCount < minSamplesLeaf) break;
        const rightSum = sum - leftSum;
        const gain = leftSum ** 2 / (leftCount + l2) + rightSum ** 2 / (rightCount + l2) - whole;
        if (gain > (best?.gain ?? 1e-12)) best = { feature, bin, gain };
      }
    }
    return best;
  }
}

function treeValue(tree: Tree, row: readonly number[]): number {
  let node = 0;
  for (;;) {
    const feature = tree.feature[node] ?? -1;
    if (feature < 0) return tree.value[node] ?? 0;
    node = ((row[feature] ?? 0) <= (tree.threshold[node] ?? 0) ? tree.left[node] : tree.right[node]) ?? -1;
  }
}

/**
 * Fits boosted trees and returns the predictor.
 * @param rows feature vectors of equal length; @param targets one number a row
 */
export function fitBoosted(
  rows: readonly (readonly number[])[],
  targets: readonly number[],
  options: BoostedOptions = BOOSTED_DEFAULTS,
): (row: readonly number[]) => number {
  const width = rows[0]?.length ?? 0;
  const columns = Array.from({ length: width }, (_, f) => Float64Array.from(rows, (row) => row[f] ?? 0));
  const grower = new Grower(columns, options);
  const start = mean(targets, 0);
  const fitted = new Float64Array(rows.length).fill(start);
  const trees: Tree[] = [];
  for (let i = 0; i < options.trees; i += 1) {
    const tree = grower.grow(Float64Array.from(targets, (y, row) => y - (fitted[row] ?? 0)));
    trees.push(tree);
    for (const [index, row] of rows.entries()) fitted[index] = (fitted[index] ?? 0) + treeValue(tree, row);
  }
  return (row) => trees.reduce((sum, tree) => sum + treeValue(tree, row), start);
}
