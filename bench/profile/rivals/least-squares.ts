/**
 * Weighted least squares by the normal equations on standardised columns, with a trace of ridge so that columns that say
 * the same do no harm.
 * @returns predictor of one row
 */
export function leastSquares(
  rows: readonly (readonly number[])[],
  targets: readonly number[],
  weights: readonly number[],
): (row: readonly number[]) => number {
  const width = rows[0]?.length ?? 0;
  const count = Math.max(1, rows.length);
  const means = Array.from(
    { length: width },
    (_, c) => rows.reduce((sum, row) => sum + (row[c] ?? 0), 0) / count,
  );
  const scales = means.map(
    (mean, c) => Math.sqrt(rows.reduce((sum, row) => sum + ((row[c] ?? 0) - mean) ** 2, 0) / count) || 1,
  );
  const design = (row: readonly number[]): number[] => [
    1,
    ...means.map((mean, c) => ((row[c] ?? 0) - mean) / (scales[c] ?? 1)),
  ];
  const size = width + 1;
  const matrix = Array.from({ length: size }, () => new Float64Array(size + 1));
  for (const [i, row] of rows.entries()) {
    const x = design(row);
    const weight = weights[i] ?? 1;
    for (let a = 0; a < size; a += 1) {
      const line = matrix[a] ?? new Float64Array();
      for (let b = 0; b < size; b += 1) line[b] = (line[b] ?? 0) + weight * (x[a] ?? 0) * (x[b] ?? 0);
      line[size] = (line[size] ?? 0) + weight * (x[a] ?? 0) * (targets[i] ?? 0);
    }
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  for (let a = 1; a < size; a += 1) {
    const line = matrix[a] ?? new Float64Array();
    line[a] = (line[a] ?? 0) + 1e-6 * total;
  }
  const solution = solve(matrix);
  return (row) => design(row).reduce((sum, x, a) => sum + x * (solution[a] ?? 0), 0);
}

/** Row at or below `a` with the largest number in column `a`. */
function pivotOf(matrix: readonly Float64Array[], a: number): number {
  let pivot = a;
  for (let b = a + 1; b < matrix.length; b += 1) {
    if (Math.abs(matrix[b]?.[a] ?? 0) > Math.abs(matrix[pivot]?.[a] ?? 0)) pivot = b;
  }
  return pivot;
}

/** Gauss-Jordan elimination with row pivots of a matrix with the right-hand side as its last column. */
function solve(matrix: Float64Array[]): number[] {
  const size = matrix.length;
  for (let a = 0; a < size; a += 1) {
    const pivot = pivotOf(matrix, a);
    const line = matrix[pivot] ?? new Float64Array();
    matrix[pivot] = matrix[a] ?? new Float64Array();
    matrix[a] = line;
    const lead = line[a] ?? 0;
    if (lead === 0) continue;
    for (let c = 0; c <= size; c += 1) line[c] = (line[c] ?? 0) / lead;
    for (const [b, other] of matrix.entries()) {
      const factor = other[a] ?? 0;
      if (b === a || factor === 0) continue;
      for (let c = 0; c <= size; c += 1) other[c] = (other[c] ?? 0) - factor * (line[c] ?? 0);
    }
  }
  return matrix.map((line) => line[size] ?? 0);
}
