import type { Rng } from "@tradewind/core/values/rng.ts";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { emptyProfile, predictOwnTime, track } from "../../predictor/models/queue/tracked-profile.ts";
import { INPUT_COUNT, DIRECTIONS } from "../../predictor/models/residual/inputs.ts";
import { parameterCount, signsOf } from "../../predictor/models/residual/network.ts";
import { ServedResidual } from "../../predictor/models/residual/residual.ts";
import type { ResidualModel } from "../../predictor/models/residual/residual-model.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { measureDecisions } from "./decide.ts";
import { percentile } from "../statistics.ts";

const SIZES = [40, 1_000, 2_500];
const UNITS = 6;

/** A residual of the shape that training gives, with random numbers of the right signs. */
function randomResidual(rng: Rng): ResidualModel {
  const shape = { inputs: INPUT_COUNT, units: UNITS };
  const signs = signsOf(shape, DIRECTIONS);
  return {
    namespace: "default",
    service: "s0",
    version: 1,
    percentile: 0.95,
    trainedAtMs: 0,
    trainingRows: 1_000,
    reference: { cpuCores: 0.5, loadPerContainer: 60 },
    curve: 0.1,
    curveSpan: { low: -1, usual: 0, high: 2 },
    spans: Array.from({ length: INPUT_COUNT }, () => ({ low: -1, usual: 0.5, high: 5 })),
    units: UNITS,
    parameters: Float64Array.from({ length: parameterCount(shape) }, (_, at) => {
      const draw = 0.15 * standardNormal(rng);
      return signs[at] === 0 ? draw : Math.abs(draw) * (signs[at] ?? 1);
    }),
  };
}

export const benchmark: Benchmark = {
  summary: "time of a whole decision, from a window to sizes, for 40, 1,000 and 2,500 services on one core",
  run(options) {
    return Promise.resolve(measure(options));
  },
};

function measure(options: BenchmarkOptions): Record<string, unknown> {
  const sizes = measureDecisions(SIZES, options);
  const [small, , large] = sizes;
  const scalingExponent =
    small === undefined || large === undefined
      ? Number.NaN
      : Math.log(large.p50Ms / small.p50Ms) / Math.log(large.services / small.services);
  // `decide` is what reports called these decisions while there was another planner.
  return { sizes, gradientUs: gradientMicros(seededRng(options.seed)), scalingExponent, decide: sizes };
}

/** Value and slopes of one tracked profile with a residual at another load each time, microseconds. */
function gradientMicros(rng: Rng): number {
  let state = emptyProfile();
  for (let at = 1; at <= 10; at += 1) {
    const times = { meanSeconds: 0.008, p50Seconds: 0.006, p95Seconds: 0.02, p99Seconds: 0.03 };
    const load = { cpuCores: 0.5, loadPerContainer: 40 + at, cpuUsageCores: 0.005 * (40 + at), calls: 1_000 };
    state = track(state, { atMs: 15_000 * at, windowSeconds: 15, ...load, ...times });
  }
  const residual = new ServedResidual(
    randomResidual(rng),
    state,
    { memoryRatio: 0.5, interference: [0.1, 0.1, 0.1, 0.1] },
    0.95,
  );
  const out = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  let consumed = 0;
  const batch = (count: number): number => {
    const start = performance.now();
    for (let call = 0; call < count; call += 1) {
      const place = { cpuCores: 0.5, loadPerContainer: 40 + (call % 50) };
      predictOwnTime(state, place, 0.95, out);
      residual.apply(place, out);
      consumed += out.tailSeconds + out.tailByLoad;
    }
    return ((performance.now() - start) * 1e3) / count;
  };
  batch(20_000);
  const micros = Array.from({ length: 21 }, () => batch(10_000)).sort((a, b) => a - b);
  return Number.isFinite(consumed) ? percentile(micros, 0.5) : Number.NaN;
}
