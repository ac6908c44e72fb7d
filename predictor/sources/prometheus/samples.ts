/** Samples of one series in rising order of time, without gaps in meaning: every value is a finite number. */
export interface Samples {
  readonly timesMs: Float64Array;
  readonly values: Float64Array;
  /** Samples left out: not a number, out of the asked time, or two values for one time. */
  readonly dropped: number;
  /** Times for which there were different values. */
  readonly clashes: number;
}

/**
 * Reads `[seconds, "value"]` pairs as a server sent them. Servers behind a load balancer or a deduplicating proxy send
 * them out of order and twice: they are sorted; equal twins count once; unequal twins are both left out, since nobody
 * can say which is true.
 */
export function readSamples(pairs: readonly unknown[], fromMs: number, toMs: number): Samples {
  const times: number[] = [];
  const values: number[] = [];
  let sorted = true;
  for (const pair of pairs) {
    const timeMs = sampleTimeMs(pair);
    const value = sampleValue(pair);
    if (timeMs === undefined || value === undefined || timeMs < fromMs || timeMs > toMs) continue;
    if (times.length > 0 && timeMs <= (times[times.length - 1] ?? 0)) sorted = false;
    times.push(timeMs);
    values.push(value);
  }
  const dropped = pairs.length - times.length;
  if (sorted)
    return { timesMs: Float64Array.from(times), values: Float64Array.from(values), dropped, clashes: 0 };
  return withoutTwins(times, values, dropped);
}

function withoutTwins(times: readonly number[], values: readonly number[], alreadyDropped: number): Samples {
  const order = Array.from(times, (_, index) => index).sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
  const keptTimes: number[] = [];
  const keptValues: number[] = [];
  let dropped = alreadyDropped;
  let clashes = 0;
  for (let at = 0; at < order.length;) {
    const timeMs = times[order[at] ?? 0] ?? 0;
    const value = values[order[at] ?? 0] ?? 0;
    let next = at + 1;
    let agree = true;
    for (; next < order.length && times[order[next] ?? 0] === timeMs; next += 1) {
      agree = agree && values[order[next] ?? 0] === value;
    }
    if (agree) {
      keptTimes.push(timeMs);
      keptValues.push(value);
      dropped += next - at - 1;
    } else {
      dropped += next - at;
      clashes += 1;
    }
    at = next;
  }
  return { timesMs: Float64Array.from(keptTimes), values: Float64Array.from(keptValues), dropped, clashes };
}

/** The time of a sample, ms; undefined when it has none. */
export function sampleTimeMs(pair: unknown): number | undefined {
  if (!Array.isArray(pair) || pair.length !== 2) return undefined;
  const seconds: unknown = pair[0];
  return typeof seconds === "number" && Number.isFinite(seconds) ? Math.round(seconds * 1_000) : undefined;
}

/** The value of a sample; undefined for NaN, infinities and what is no number. */
export function sampleValue(pair: unknown): number | undefined {
  if (!Array.isArray(pair) || pair.length !== 2) return undefined;
  const text: unknown = pair[1];
  if (typeof text !== "string" || text === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
