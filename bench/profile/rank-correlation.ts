/** Spearman's rank correlation; equal values share their mean rank. NaN where one of them is constant. */
export function rankCorrelation(first: readonly number[], second: readonly number[]): number {
  const [a, b] = [ranksOf(first), ranksOf(second)];
  const middle = (first.length - 1) / 2;
  let [both, ofFirst, ofSecond] = [0, 0, 0];
  for (const [i, rank] of a.entries()) {
    const [x, y] = [rank - middle, (b[i] ?? middle) - middle];
    both += x * y;
    ofFirst += x * x;
    ofSecond += y * y;
  }
  return both / Math.sqrt(ofFirst * ofSecond);
}

function ranksOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2);
}
