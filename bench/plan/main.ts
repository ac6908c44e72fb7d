import type { Rng } from "@tradewind/core/rng.ts";
import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { INPUT_COUNT, NETWORK_DIRECTIONS, NETWORK_INPUT_COUNT } from "../../predictor/profile/inputs.ts";
import { ALL_ON } from "../../predictor/profile/model.ts";
import type { ProfileModel } from "../../predictor/profile/model.ts";
import { layoutOf, parameterSigns } from "../../predictor/profile/shape.ts";
import { TrainedProfile } from "../../predictor/profile/trained-profile.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { measureDecisions } from "./decide.ts";
import { percentile } from "./percentile.ts";

const SIZES = [40, 1_000, 2_500];
const HIDDEN = [16, 16, 8];
const MEMBERS = 3;

/** A model of the shape and size that training gives, with random numbers of the right signs and a small residual. */
function randomModel(service: string, cpuSecondsPerRequest: number, rng: Rng): ProfileModel {
  const shape = { inputs: NETWORK_INPUT_COUNT, hidden: HIDDEN, activation: "tanh" as const };
  const signs = parameterSigns(shape, NETWORK_DIRECTIONS, true);
  const { length, stretchWeight, baseWeight } = layoutOf(shape);
  const spans = [
    [0.05, 4],
    [1e8, 4e9],
    [0, 500],
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 2],
    [-8, 0],
  ].map(([low = 0, high = 1]) => ({ low, high, neutral: (low + high) / 2 }));
  return {
    namespace: "default",
    service,
    version: 1,
    percentile: 0.95,
    trainedAtMs: 0,
    trainingRows: 1_000,
    switches: ALL_ON,
    priorWeight: 1,
    cpuSecondsPerRequest,
    baseSeconds: 3 * cpuSecondsPerRequest,
    spans,
    hidden: HIDDEN,
    activation: "tanh",
    members: Array.from({ length: MEMBERS }, () =>
      Float64Array.from({ length }, (_, at) => {
        if (at === stretchWeight || at === baseWeight) return 1;
        const draw = 0.15 * standardNormal(rng);
        return signs[at] === 0 ? draw : Math.abs(draw) * (signs[at] ?? 1);
      }),
    ),
    interval: { low: -1, high: 1 },
    errors: { rows: 100, meanAbsoluteRatio: 0.08, coverage: 0.9 },
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

/** Value and gradient of one trained profile, microseconds. */
function gradientMicros(rng: Rng): number {
  const profile = new TrainedProfile(randomModel("s0", 0.005, rng));
  const input = Float64Array.from([0.5, 5e8, 60, 0.1, 0.1, 0.1, 0.1, 0.005, 0.015]);
  const gradient = new Float64Array(INPUT_COUNT);
  let consumed = 0;
  const batch = (count: number): number => {
    const start = performance.now();
    for (let call = 0; call < count; call += 1) {
      input[2] = 40 + (call % 50);
      consumed += profile.evaluate(input, gradient) + (gradient[0] ?? 0);
    }
    return ((performance.now() - start) * 1e3) / count;
  };
  batch(20_000);
  const micros = Array.from({ length: 21 }, () => batch(10_000)).sort((a, b) => a - b);
  return Number.isFinite(consumed) ? percentile(micros, 0.5) : Number.NaN;
}
