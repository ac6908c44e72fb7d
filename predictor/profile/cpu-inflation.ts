import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import { median } from "./order-statistics.ts";

/**
 * How interference inflates the CPU seconds that a request takes: shared caches, memory bandwidth and hyper-threads make
 * the same instructions take longer, and the kernel counts that time as the container's own. By component, in the order
 * of `INTERFERENCE_COMPONENTS`:
 * ln (CPU seconds / those at the reference) = Σ linear · (I − reference) + quadratic · (I² − reference²).
 */
export interface CpuInflation {
  /** Median interference of the windows it was learnt from; there the factor is 1. */
  readonly reference: readonly number[];
  /** ≥ 0. */
  readonly linear: readonly number[];
  /** ≥ 0: contention grows faster than its cause. */
  readonly quadratic: readonly number[];
}

/** One window: what a request took, and under what interference, NaN where absent. */
export interface InflatedCost {
  readonly cpuSecondsPerRequest: number;
  readonly interference: readonly number[];
}

/** No interference is believed to change the cost of a request by more than this factor either way. */
const MOST_FACTOR = 4;

/** Factor on the CPU seconds of a request; an absent component counts as the reference. */
export function inflationAt(
  { reference, linear, quadratic }: CpuInflation,
  interference: readonly number[],
): number {
  let log = 0;
  for (let i = 0; i < reference.length; i += 1) {
    const from = reference[i] ?? 0;
    const value = interference[i] ?? Number.NaN;
    if (!Number.isFinite(value)) continue;
    log += (linear[i] ?? 0) * (value - from) + (quadratic[i] ?? 0) * (value * value - from * from);
  }
  return Math.min(MOST_FACTOR, Math.max(1 / MOST_FACTOR, Math.exp(log)));
}

/** Windows that are compared with each other only: over longer times the program itself may have changed. */
const BLOCK_WINDOWS = 40;

/** Pull towards no inflation: as much as one window at full interference says. */
const RIDGE = 1;

const SWEEPS = 60;

/** Fewer windows tell nothing. */
const LEAST_WINDOWS = 40;

const COMPONENTS = INTERFERENCE_COMPONENTS.length;

/**
 * Learns the inflation from windows in which containers were not held back, oldest first: ridge regression with
 * slopes ≥ 0 of the logarithm of the cost on interference, each block of forty windows by its own mean, so that a deploy in
 * between is not taken for interference.
 * @returns undefined when nothing can be told
 */
export function learnInflation(costs: readonly InflatedCost[]): CpuInflation | undefined {
  if (costs.length < LEAST_WINDOWS) return undefined;
  const reference = Array.from({ length: COMPONENTS }, (_, i) => {
    const middle = median(
      costs.map(({ interference }) => interference[i] ?? Number.NaN).filter(Number.isFinite),
    );
    return Number.isFinite(middle) ? middle : 0;
  });
  const columns: Float64Array[] = Array.from({ length: 2 * COMPONENTS }, (_, c) =>
    Float64Array.from(costs, ({ interference }) => {
      const known = interference[c % COMPONENTS] ?? Number.NaN;
      const value = Number.isFinite(known) ? known : (reference[c % COMPONENTS] ?? 0);
      return c < COMPONENTS ? value : value * value;
    }),
  );
  const target = Float64Array.from(costs, ({ cpuSecondsPerRequest }) => Math.log(cpuSecondsPerRequest));
  for (const values of [...columns, target]) centreByBlock(values);
  const most = Math.log(MOST_FACTOR);
  for (let i = 0; i < target.length; i += 1) target[i] = Math.min(most, Math.max(-most, target[i] ?? 0));
  const slopes = nonNegativeRidge(columns, target);
  return { reference, linear: slopes.slice(0, COMPONENTS), quadratic: slopes.slice(COMPONENTS) };
}

function centreByBlock(values: Float64Array): void {
  for (let start = 0; start < values.length; start += BLOCK_WINDOWS) {
    const block = values.subarray(start, start + BLOCK_WINDOWS);
    const mean = block.reduce((sum, value) => sum + value, 0) / block.length;
    for (let i = 0; i < block.length; i += 1) block[i] = (block[i] ?? 0) - mean;
  }
}

/** Coordinate descent on Σ (target − Σ slope · column)² + ridge · Σ slope², slopes ≥ 0. */
function nonNegativeRidge(columns: readonly Float64Array[], target: Float64Array): number[] {
  const slopes = columns.map(() => 0);
  const rest = target.slice();
  const squares = columns.map((column) => column.reduce((sum, value) => sum + value * value, 0));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const [c, column] of columns.entries()) {
      const before = slopes[c] ?? 0;
      let product = (squares[c] ?? 0) * before;
      for (let i = 0; i < column.length; i += 1) product += (column[i] ?? 0) * (rest[i] ?? 0);
      const after = Math.max(0, product / ((squares[c] ?? 0) + RIDGE));
      if (after === before) continue;
      for (let i = 0; i < column.length; i += 1)
        rest[i] = (rest[i] ?? 0) - (after - before) * (column[i] ?? 0);
      slopes[c] = after;
    }
  }
  return slopes;
}
