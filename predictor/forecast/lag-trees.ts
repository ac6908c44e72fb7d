import { expectedAt } from "./expected-load.ts";
import type { Steps } from "./expected-load.ts";

/** How many trees, of how many questions each, and the part of what is left that each takes away. */
export interface TreesShape {
  readonly trees: number;
  readonly depth: number;
  readonly rate: number;
}

/** Values of an input are told apart by so many classes of equal size. */
const BINS = 16;
/** Fewest examples that an answer is the median of. */
const LEAST_IN_LEAF = 12;

/** One tree: a question for each inner node, an answer for each leaf. A node that asks nothing sends all to the left. */
interface Tree {
  readonly inputs: Int16Array;
  /** Classes above this one go to the right. */
  readonly classes: Uint8Array;
  readonly answers: Float64Array;
}

/** Boosted regression trees for the median: each is fitted to the signs of what those before leave, its answers are medians. */
export class LagTrees {
  readonly #shape: TreesShape;
  #edges: readonly Float64Array[] = [];
  #trees: readonly Tree[] = [];
  #base = 0;

  constructor(shape: TreesShape) {
    this.#shape = shape;
  }

  /** @param rows inputs of each example, all of one length; @param targets what came of each */
  fit(rows: readonly (readonly number[])[], targets: readonly number[]): void {
    const width = rows[0]?.length ?? 0;
    this.#edges = Array.from({ length: width }, (_, input) => edgesOf(rows.map((row) => row[input] ?? 0)));
    const classes = new Uint8Array(rows.length * width);
    for (const [at, row] of rows.entries()) classes.set(this.#classesOf(row), at * width);
    this.#base = medianOf(targets);
    const left = Float64Array.from(targets, (target) => target - this.#base);
    this.#trees = Array.from({ length: this.#shape.trees }, () => {
      const { leaves, tree } = grown(classes, width, left, this.#shape);
      for (const [at, leaf] of leaves.entries()) left[at] = (left[at] ?? 0) - (tree.answers[leaf] ?? 0);
      return tree;
    });
  }

  /** The median by all trees; 0 before the first fit. */
  predict(row: readonly number[]): number {
    const classes = this.#classesOf(row);
    return this.#trees.reduce((sum, tree) => sum + answerOf(tree, classes, this.#shape.depth), this.#base);
  }

  #classesOf(row: readonly number[]): Uint8Array {
    return Uint8Array.from(this.#edges, (edges, input) => {
      const value = row[input] ?? 0;
      let place = 0;
      while (place < edges.length && value > (edges[place] ?? 0)) place += 1;
      return place;
    });
  }
}

function medianOf(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[sorted.length >> 1] ?? 0;
}

/** Upper ends of all classes but the last. */
function edgesOf(values: readonly number[]): Float64Array {
  const sorted = Float64Array.from(values).sort();
  const ends = Array.from(
    { length: BINS - 1 },
    (_, at) => sorted[Math.floor(((at + 1) * sorted.length) / BINS)] ?? 0,
  );
  return Float64Array.from(new Set(ends));
}

function answerOf({ answers, classes: ends, inputs }: Tree, classes: Uint8Array, depth: number): number {
  let node = 0;
  for (let level = 0; level < depth; level += 1) {
    const isRight = (classes[inputs[node] ?? 0] ?? 0) > (ends[node] ?? BINS);
    node = 2 * node + (isRight ? 2 : 1);
  }
  return answers[node - (2 ** depth - 1)] ?? 0;
}

interface Grown {
  readonly tree: Tree;
  /** Leaf of each example. */
  readonly leaves: Int32Array;
}

function grown(classes: Uint8Array, width: number, left: Float64Array, { depth, rate }: TreesShape): Grown {
  const inner = 2 ** depth - 1;
  const tree = {
    inputs: new Int16Array(inner),
    classes: new Uint8Array(inner).fill(BINS),
    answers: new Float64Array(inner + 1),
  };
  const nodes = new Int32Array(left.length);
  for (let level = 0; level < depth; level += 1) {
    const first = 2 ** level - 1;
    const { counts, sums } = histograms({ classes, width, left, nodes, first });
    for (let node = first; node < 2 * first + 1; node += 1) {
      const best = bestSplit(counts, sums, (node - first) * width, width);
      if (best === undefined) continue;
      tree.inputs[node] = best.input;
      tree.classes[node] = best.end;
    }
    for (let at = 0; at < nodes.length; at += 1) {
      const node = nodes[at] ?? 0;
      const isRight = (classes[at * width + (tree.inputs[node] ?? 0)] ?? 0) > (tree.classes[node] ?? BINS);
      nodes[at] = 2 * node + (isRight ? 2 : 1);
    }
  }
  const inLeaf = Array.from({ length: inner + 1 }, (): number[] => []);
  const leaves = nodes.map((node) => node - inner);
  for (const [at, leaf] of leaves.entries()) inLeaf[leaf]?.push(left[at] ?? 0);
  for (const [leaf, values] of inLeaf.entries())
    tree.answers[leaf] = rate * (values.length > 0 ? medianOf(values) : 0);
  return { tree, leaves };
}

interface Level {
  readonly classes: Uint8Array;
  readonly width: number;
  readonly left: Float64Array;
  readonly nodes: Int32Array;
  /** First node of the level. */
  readonly first: number;
}

/** Examples, and the sum of the signs of what is left of them, by node, input and class. */
function histograms({ classes, first, left, nodes, width }: Level): {
  readonly counts: Float64Array;
  readonly sums: Float64Array;
} {
  const counts = new Float64Array((first + 1) * width * BINS);
  const sums = new Float64Array(counts.length);
  for (let at = 0; at < left.length; at += 1) {
    const from = ((nodes[at] ?? 0) - first) * width;
    const sign = Math.sign(left[at] ?? 0);
    for (let input = 0; input < width; input += 1) {
      const place = (from + input) * BINS + (classes[at * width + input] ?? 0);
      counts[place] = (counts[place] ?? 0) + 1;
      sums[place] = (sums[place] ?? 0) + sign;
    }
  }
  return { counts, sums };
}

/** The question that tells most signs apart; undefined where none leaves enough examples on both sides. */
function bestSplit(
  counts: Float64Array,
  sums: Float64Array,
  from: number,
  width: number,
): { readonly input: number; readonly end: number } | undefined {
  let best: { readonly input: number; readonly end: number } | undefined;
  let most = 1e-9;
  for (let input = 0; input < width; input += 1) {
    const place = (from + input) * BINS;
    let [allCount, allSum, count, sum] = [0, 0, 0, 0];
    for (let each = place; each < place + BINS; each += 1) {
      allCount += counts[each] ?? 0;
      allSum += sums[each] ?? 0;
    }
    for (let end = 0; end < BINS - 1; end += 1) {
      count += counts[place + end] ?? 0;
      sum += sums[place + end] ?? 0;
      const rest = allCount - count;
      if (count < LEAST_IN_LEAF || rest < LEAST_IN_LEAF) continue;
      const gain = sum ** 2 / count + (allSum - sum) ** 2 / rest - allSum ** 2 / allCount;
      if (gain <= most) continue;
      most = gain;
      best = { input, end };
    }
  }
  return best;
}

/** Small, as they are fitted in the predictor's own thread: some 5 ms. */
const SHAPE: TreesShape = { trees: 40, depth: 3, rate: 0.15 };
/** Examples that trees are first fitted to, and so many times as many from which they are fitted again. */
const LEAST_FITTED = 96;
const FIT_AGAIN = 1.25;
/** Examples after which they are fitted again at the latest. */
const MOST_UNFITTED = 144;
/** A week of steps of five minutes: what a fit takes, in time and memory, is bounded by it. */
const MOST_EXAMPLES = 2_016;

/** Trees that are fitted again and again to the newest examples of a series. */
export class LagForecast {
  readonly #mostExamples: number;
  #rows: (readonly number[])[] = [];
  #changes: number[] = [];
  #trees: LagTrees | undefined;
  #learnt = 0;
  #fitted = 0;

  constructor(mostExamples = MOST_EXAMPLES) {
    this.#mostExamples = mostExamples;
  }

  /** @param lags see {@link lagsOf} @param change what came of them, in the same units */
  learn(lags: readonly number[], change: number): void {
    this.#rows.push(lags);
    this.#changes.push(change);
    this.#learnt += 1;
    if (
      this.#learnt < Math.max(LEAST_FITTED, Math.min(FIT_AGAIN * this.#fitted, this.#fitted + MOST_UNFITTED))
    )
      return;
    this.#rows = this.#rows.slice(-this.#mostExamples);
    this.#changes = this.#changes.slice(-this.#mostExamples);
    this.#trees ??= new LagTrees(SHAPE);
    this.#trees.fit(this.#rows, this.#changes);
    this.#fitted = this.#learnt;
  }

  /** NaN before the first fit. */
  predict(lags: readonly number[]): number {
    return this.#trees?.predict(lags) ?? Number.NaN;
  }
}

/** Steps back that trees see one by one. */
const LAGS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 18, 24, 36] as const;
/** Steps of the means and of the spread that they see. */
const MEANS = [3, 6, 12, 24, 48] as const;
const MOST_INPUT = 6;

/** A step in a series of loads, and the one that is forecast from it. */
export interface LagOrigin {
  readonly loads: Steps;
  /** Of the last load that is known. */
  readonly last: number;
  readonly ahead: number;
  readonly season: number | undefined;
}

/** What trees see of a series: past loads, means and seasons as distances from the last load, in units of a scale. */
export function lagsOf({ ahead, last, loads, season }: LagOrigin, scale: number): number[] {
  const at = (place: number): number => loads[Math.max(0, place)] ?? 0;
  const base = at(last);
  const from = (steps: number): number[] => Array.from({ length: steps }, (_, back) => at(last - back));
  const meanOf = (values: readonly number[]): number =>
    values.reduce((sum, each) => sum + each, 0) / values.length;
  const short = from(12);
  const level = meanOf(short);
  const spread = Math.sqrt(meanOf(short.map((each) => (each - level) ** 2)));
  const seasonal = (place: number): number => {
    const value = season === undefined ? Number.NaN : expectedAt(loads, place, season);
    return Number.isNaN(value) ? base : value;
  };
  const yesterday = (place: number): number =>
    season === undefined || place < season ? base : at(place - season);
  const then = seasonal(last + ahead);
  return [
    ...LAGS.map((lag) => at(last - lag) - base),
    ...MEANS.map((steps) => meanOf(from(steps)) - base),
    spread,
    base,
    then - base,
    then - seasonal(last),
    yesterday(last + ahead) - base,
    yesterday(last + ahead) - yesterday(last),
  ].map((each) => Math.max(-MOST_INPUT, Math.min(MOST_INPUT, each / scale)));
}
