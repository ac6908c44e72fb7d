/** Chooses the next interval (s) from a reading's rate; one instance per run. */
export interface Rival {
  next(rate: number, intervalSeconds: number): number;
}

/** Reads a counter every `seconds`. */
export const fixed = (seconds: number) => (): Rival => ({ next: () => seconds });

/**
 * cAdvisor's dynamic housekeeping with a tolerance in place of equality: as long as two rates agree the interval doubles,
 * otherwise it starts again at the shortest.
 */
export const doubling =
  ({ longest }: { longest: number }) =>
  (tolerance: number): Rival => {
    let before = Number.NaN;
    return {
      next(rate, interval) {
        const agrees = Math.abs(rate - before) <= tolerance;
        before = rate;
        return agrees ? Math.min(longest, interval * 2) : 1;
      },
    };
  };

/**
 * AdaM (Trihinas, Pallis, Dikaiakos, BigData 2015). The distance d of two readings is followed by a probabilistic EWMA,
 * a_i = a (1 - b P_i), P_i the standard normal density of (d - mean) / deviation; its deviation against the observed one
 * (here: all distances so far) gives the confidence c = 1 - |s^ - s| / s. If c >= 1 - gamma the interval grows by
 * lambda (1 + (c - gamma) / c), otherwise it starts again at the shortest.
 */
export const adam =
  ({ gamma, weight, longest }: { gamma: number; weight: number; longest: number }) =>
  (): Rival => {
    const beta = 0.5;
    const lambda = 1;
    let before = Number.NaN;
    let mean = 0;
    let square = 0;
    let count = 0;
    let observedMean = 0;
    let observedSquares = 0;
    return {
      next(rate, interval) {
        const distance = Math.abs(rate - before);
        before = rate;
        if (Number.isNaN(distance)) return 1;
        count += 1;
        const gap = distance - observedMean;
        observedMean += gap / count;
        observedSquares += gap * (distance - observedMean);
        const deviation = Math.sqrt(Math.max(0, square - mean ** 2));
        const z = deviation > 0 ? (distance - mean) / deviation : 0;
        const density = Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI);
        const keep = count === 1 ? 0 : weight * (1 - beta * density);
        mean = keep * mean + (1 - keep) * distance;
        square = keep * square + (1 - keep) * distance ** 2;
        const estimated = Math.sqrt(Math.max(0, square - mean ** 2));
        const observed = Math.sqrt(observedSquares / count);
        const confidence = observed > 0 ? 1 - Math.abs(estimated - observed) / observed : 1;
        if (confidence < 1 - gamma) return 1;
        return Math.min(longest, interval + Math.ceil(lambda * (1 + (confidence - gamma) / confidence)));
      },
    };
  };

/** Runs a rival on the seconds of a counter. */
export function runRival(rival: Rival, total: Float64Array): number[] {
  const times: number[] = [0];
  let last = 0;
  let interval = 1;
  for (let second = 1; second < total.length; second += 1) {
    if (second < last + interval) continue;
    const rate = ((total[second] ?? 0) - (total[last] ?? 0)) / (second - last);
    interval = Math.max(1, rival.next(rate, interval));
    times.push(second);
    last = second;
  }
  return times;
}
