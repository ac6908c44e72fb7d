/** Consecutive windows of equal length: window `i` is (firstEndMs + (i − 1)·stepMs, firstEndMs + i·stepMs]. */
export interface Grid {
  readonly firstEndMs: number;
  readonly stepMs: number;
  readonly count: number;
}

export const gridStartMs = (grid: Grid): number => grid.firstEndMs - grid.stepMs;
export const gridEndMs = (grid: Grid): number => grid.firstEndMs + (grid.count - 1) * grid.stepMs;
export const windowEndMs = (grid: Grid, index: number): number => grid.firstEndMs + index * grid.stepMs;

/** The grid of one window. */
export function singleWindow(startMs: number, endMs: number): Grid {
  return { firstEndMs: endMs, stepMs: endMs - startMs, count: 1 };
}

/** Which window ends at this time; undefined when none does. */
export function indexOfEnd(grid: Grid, endMs: number): number | undefined {
  const index = (endMs - grid.firstEndMs) / grid.stepMs;
  return Number.isInteger(index) && index >= 0 && index < grid.count ? index : undefined;
}

/** One value per window of a grid, NaN where it is not known. Never leaves this folder as NaN. */
export function unknownColumn(grid: Grid): Float64Array {
  return new Float64Array(grid.count).fill(Number.NaN);
}
