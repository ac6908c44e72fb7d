/** A stretch of time a consumer should notice: its rate must be seen at or above `level` in seconds [start, end). */
export interface Episode {
  readonly start: number;
  readonly end: number;
  readonly level: number;
}

/** A signal's truth: what a reader would see that reads its counter every second. */
export interface Trace {
  readonly name: string;
  /** False when neighbouring seconds tell nothing about each other within the tolerance (see bench/sampling/main.ts). */
  readonly structured: boolean;
  /** Mean rate over each second, cores. */
  readonly rates: Float64Array;
  readonly episodes: readonly Episode[];
}

/** The cumulative counter of a trace: entry s is the total at the end of second s (entry 0 is 0). */
export function totals(rates: Float64Array): Float64Array {
  const total = new Float64Array(rates.length + 1);
  for (let second = 0; second < rates.length; second += 1) {
    total[second + 1] = (total[second] ?? 0) + (rates[second] ?? 0);
  }
  return total;
}

/** The counter at any time, the rate being even within a second. */
export function totalAt(total: Float64Array, seconds: number): number {
  const whole = Math.min(Math.floor(seconds), total.length - 1);
  const low = total[whole] ?? 0;
  return low + (seconds - whole) * ((total[whole + 1] ?? low) - low);
}

/** Adds `height` between two real-valued times, each second by the part of it that is covered. */
export function addPlateau(rates: Float64Array, from: number, to: number, height: number): void {
  for (let second = Math.max(0, Math.floor(from)); second < Math.min(rates.length, to); second += 1) {
    const covered = Math.min(second + 1, to) - Math.max(second, from);
    rates[second] = (rates[second] ?? 0) + covered * height;
  }
}

/**
 * Episodes of a series without labels: runs of at least `shortest` seconds at or above `enter`; to have noticed one is
 * to have seen `enter` less the tolerance.
 */
export function excursions(
  rates: Float64Array,
  enter: number,
  tolerance: number,
  shortest: number,
): Episode[] {
  const found: Episode[] = [];
  let start = -1;
  for (let second = 0; second <= rates.length; second += 1) {
    const above = (rates[second] ?? -Infinity) >= enter;
    if (above && start < 0) start = second;
    if (above || start < 0) continue;
    if (second - start >= shortest) found.push({ start, end: second, level: enter - tolerance });
    start = -1;
  }
  return found;
}
