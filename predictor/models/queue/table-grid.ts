/** Axes of the table of response times, each in ascending order. What lies between is interpolated, see queue-curve.ts. */
export const UTILISATIONS = [0, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.87, 0.92, 0.97] as const;
export const QUOTA_SHARES = [0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 1] as const;
export const PERIOD_DEMANDS = [0.1, 0.3, 1, 2.5, 6, 15, 40, 100, 300, 1000, 3000] as const;
export const PARALLELISMS = [1, 2, 4, 8, 16] as const;
export const VARIATIONS = [0.3, 0.7, 1.2, 2] as const;

/** Numbers of one place: ln of mean, p50, p95 and p99 over the mean demand, and ln of the chance of p95, see {@link CHANCE}. */
export const STATISTIC_COUNT = 5;
/** Place of the variance of ln p95 among windows, times their requests, as a logarithm. */
export const CHANCE = 4;

/** Axes of a table in their order; the table of one thread that takes requests in order has one parallelism. */
export const sizesOf = (parallelisms: readonly number[]): readonly number[] => [
  UTILISATIONS.length,
  QUOTA_SHARES.length,
  PERIOD_DEMANDS.length,
  VARIATIONS.length,
  parallelisms.length,
];

/** Numbers are kept as 16 bits over this range of logarithms: within 0.0002, e^-2 to e^14. */
export const LEAST_LOG = -2;
const MOST_LOG = 14;
const STEPS = 65_535;

/** Table as text: 16 bits a number, low byte first, in base64. */
export function encode(logs: Float64Array): string {
  const bytes = new Uint8Array(2 * logs.length);
  logs.forEach((log, i) => {
    const share = (Math.min(MOST_LOG, Math.max(LEAST_LOG, log)) - LEAST_LOG) / (MOST_LOG - LEAST_LOG);
    const step = Math.round(share * STEPS);
    bytes[2 * i] = step & 255;
    bytes[2 * i + 1] = step >> 8;
  });
  return Buffer.from(bytes).toString("base64");
}

export function decode(text: string): Float64Array {
  const bytes = Buffer.from(text, "base64");
  return Float64Array.from(
    { length: bytes.length / 2 },
    (_, i) => LEAST_LOG + ((MOST_LOG - LEAST_LOG) * bytes.readUInt16LE(2 * i)) / STEPS,
  );
}
