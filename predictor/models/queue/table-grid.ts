/** Axes of the table of response times, each in ascending order. What lies between is interpolated, see queue-curve.ts. */
export const UTILISATIONS = [0, 0.2, 0.35, 0.5, 0.6, 0.68, 0.76, 0.84, 0.91, 0.97] as const;
export const QUOTA_SHARES = [0.03, 0.1, 0.2, 0.35, 0.55, 0.8, 0.95, 1] as const;
export const PERIOD_DEMANDS = [0.5, 2, 4, 8, 16, 32, 64, 128, 400, 2000] as const;
export const PARALLELISMS = [1, 2, 4, 8, 16] as const;
export const VARIATIONS = [0.3, 0.7, 1.2, 2] as const;

/** Numbers of a place: ln of mean, p50, p95 and p99; under a quota also ln of the variance of ln p95 among windows, times requests. */
export const STATISTIC_COUNT = 4;
export const STALL_COUNT = 5;
/** Place of that variance. */
export const CHANCE = 4;

/** Axes of the table without a quota; that of one thread in order has one parallelism. */
export const freeSizes = (parallelisms: readonly number[]): readonly number[] => [
  UTILISATIONS.length,
  VARIATIONS.length,
  parallelisms.length,
];

/** Axes of the table of what a quota adds. */
export const stallSizes = (parallelisms: readonly number[]): readonly number[] => [
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
