import { z } from "zod";
import { OVERHEAD, PARAMETER_COUNT } from "./own-time.ts";
import type { Program } from "./own-time.ts";
import type { Estimate } from "./kalman.ts";

/**
 * Programs that are thought possible. Where latency bends and how much CPU is used at most says which it is; their
 * weights are learnt, the other parameters are tracked for each of them.
 */
export const PROGRAMS: readonly Program[] = [
  { parallelism: 1, isInOrder: true },
  { parallelism: 1, isInOrder: false },
  { parallelism: 2, isInOrder: false },
  { parallelism: 4, isInOrder: false },
  { parallelism: 16, isInOrder: false },
];
const Tracked = z.strictObject({
  /** Windows taken in. */
  windows: z.int().nonnegative(),
  /** End of the last one, ms since the Unix epoch; absent before the first. */
  atMs: z.number().optional(),
  /** Chance of each of the programs, see PROGRAMS; they add up to 1. */
  weights: z.array(z.number().min(0).max(1)).length(PROGRAMS.length),
  /** Logarithms of the parameters under each program, in the order of own-time.ts. */
  means: z.array(z.array(z.number()).length(PARAMETER_COUNT)).length(PROGRAMS.length),
  /** Their covariances, row by row. */
  covariances: z.array(z.array(z.number()).length(PARAMETER_COUNT ** 2)).length(PROGRAMS.length),
  /** Variance of ln latency that chance does not explain, for p50, p95 and p99. */
  residuals: z.array(z.number().nonnegative()).length(3),
  /** Variance of ln CPU use that chance does not explain: what requests take differs so much from window to window. */
  cpuResidual: z.number().nonnegative().default(0),
  /** Windows that said something of CPU per request, and of latency. */
  cpuWindows: z.int().nonnegative(),
  latencyWindows: z.int().nonnegative(),
  /** Under each program, ln of what a request took of the CPU in the last window over its demand. */
  inflations: z
    .array(z.number())
    .length(PROGRAMS.length)
    .default(() => PROGRAMS.map(() => 0)),
  /** Windows in a row whose CPU use, and whose latencies, were far above (> 0) or below (< 0) what was expected. */
  surprises: z.int(),
  latencySurprises: z.int().default(0),
  /** Load of each container at which the last windows were about the same, and how many they were. */
  place: z.strictObject({ load: z.number().positive(), windows: z.int().nonnegative() }).optional(),
  /** Load of the last window with any, and CPU limit of the last one: a window in which they changed says less. */
  lastLoad: z.number().optional(),
  lastCores: z.number().optional(),
  /** Share of the requests that left spans in the last window with any. */
  keptRatio: z.number().min(0).max(1).optional(),
});

/** Parameters that states had before {@link OVERHEAD} was tracked. */
const FEWER = OVERHEAD;

/** A state that was stored before, with what is known of the new parameter before any window. */
function extended(state: unknown): unknown {
  const old = Stored.safeParse(state);
  if (!old.success) return state;
  const [median, spread] = PRIOR[OVERHEAD] ?? [1, 1];
  const means = old.data.means.map((mean) => [...mean, Math.log(median)]);
  const covariances = old.data.covariances.map((covariance) => {
    const rows = Array.from({ length: FEWER }, (_, i) => [
      ...covariance.slice(i * FEWER, (i + 1) * FEWER),
      0,
    ]);
    return [...rows.flat(), ...Array.from({ length: FEWER }, () => 0), spread ** 2];
  });
  return { ...old.data, means, covariances };
}

const Stored = z.looseObject({
  means: z.array(z.array(z.number()).length(FEWER)),
  covariances: z.array(z.array(z.number()).length(FEWER ** 2)),
});

/** What the filter knows of one service: plain numbers, 4.5 kB as JSON. */
export const ProfileState = z.preprocess(extended, Tracked);
export type ProfileState = z.infer<typeof Tracked>;

/** Before any window: median and standard deviation of the logarithm of each parameter. */
export const PRIOR: readonly (readonly [median: number, spread: number])[] = [
  [0.005, 2],
  [0.003, 0.85],
  [0.7, 0.5],
  [0.005, 2],
  [0.7, 0.5],
  [0.1, 1.5],
];
const BOUNDS: readonly (readonly [least: number, most: number])[] = [
  [1e-6, 100],
  [1e-5, 8],
  [0.1, 3],
  [1e-5, 100],
  [0.05, 3],
  [0.001, 0.95],
];
const LOG_LEAST = BOUNDS.map(([least]) => Math.log(least));
const LOG_MOST = BOUNDS.map(([, most]) => Math.log(most));
/** Standard deviation of ln latency that the model is taken to miss before windows have shown how much. */
export const FIRST_RESIDUAL = 0.15;

export function emptyProfile(): ProfileState {
  const covariance = Array.from({ length: PARAMETER_COUNT ** 2 }, () => 0);
  for (const [i, [, spread]] of PRIOR.entries()) covariance[i * PARAMETER_COUNT + i] = spread ** 2;
  return {
    windows: 0,
    weights: PROGRAMS.map(() => 1 / PROGRAMS.length),
    means: PROGRAMS.map(() => PRIOR.map(([median]) => Math.log(median))),
    covariances: PROGRAMS.map(() => Array.from(covariance)),
    residuals: [FIRST_RESIDUAL ** 2, FIRST_RESIDUAL ** 2, FIRST_RESIDUAL ** 2],
    cpuWindows: 0,
    latencyWindows: 0,
    cpuResidual: 0,
    inflations: PROGRAMS.map(() => 0),
    surprises: 0,
    latencySurprises: 0,
  };
}

/** No number of it has overflowed. */
export const isFiniteProfile = ({ covariances, means, residuals, weights }: ProfileState): boolean =>
  [...means, ...covariances, weights, residuals].every((numbers) =>
    numbers.every((each) => Number.isFinite(each)),
  );

/** Keeps the parameters to what containers and requests can be. */
export function bound({ mean }: Estimate): void {
  for (let i = 0; i < BOUNDS.length; i += 1) {
    mean[i] = Math.min(LOG_MOST[i] as number, Math.max(LOG_LEAST[i] as number, mean[i] as number));
  }
}

/** Windows of each kind before the profile is believed: fewer cannot outvote a disturbed one. */
export const LEAST_WINDOWS = 3;
/**
 * Standard deviation of ln of the curve's own error, see docs/models.md: steady windows show it where they are, not elsewhere. A window that is
 * disturbed by less counts as steady.
 */
export const CURVE_ERROR = 0.1;
/** No program is ever less likely than this: a deploy can change it. */
export const LEAST_WEIGHT = 0.001;
