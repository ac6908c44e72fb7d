import type { Rng } from "@tradewind/core/rng.ts";
import { standardNormal } from "@tradewind/core/rng.ts";
import {
  FEATURE_COUNT,
  NETWORK_DIRECTIONS,
  NETWORK_INPUT_COUNT,
} from "@tradewind/predictor/profile/inputs.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import type { ProfileModel, Switches } from "@tradewind/predictor/profile/model.ts";
import { layoutOf, parameterSigns } from "@tradewind/predictor/profile/shape.ts";

/** Spans of the features, utilisation and ln base that the random inputs below lie in or a little outside. */
const SPANS = [
  { low: 0.1, high: 2, neutral: 0.5 },
  { low: 64e6, high: 2e9, neutral: 5e8 },
  { low: 0, high: 400, neutral: 100 },
  { low: 0, high: 0.9, neutral: 0.1 },
  { low: 0, high: 0.5, neutral: 0.1 },
  { low: 0, high: 0, neutral: 0 },
  { low: 0, high: 0.7, neutral: 0.2 },
  { low: 0, high: 1.5, neutral: 0.5 },
  { low: Math.log(1e-3), high: Math.log(0.1), neutral: Math.log(0.01) },
];

/** A model with random weights of the signs its switches promise. */
export function randomModel(rng: Rng, switches: Switches = ALL_ON, members = 2): ProfileModel {
  const width = switches.prior ? NETWORK_INPUT_COUNT : FEATURE_COUNT;
  const shape = { inputs: width, hidden: [7, 6, 5], activation: "tanh" as const };
  const signs = parameterSigns(shape, NETWORK_DIRECTIONS, switches.monotone);
  const draw = (): Float64Array =>
    Float64Array.from({ length: layoutOf(shape).length }, (_, i) => {
      const value = standardNormal(rng) * 0.6;
      const sign = signs[i] ?? 0;
      return Math.fround(sign === 0 ? value : Math.abs(value) * sign);
    });
  return {
    namespace: "shop",
    service: "cart",
    version: 1,
    percentile: 0.95,
    trainedAtMs: 1_700_000_000_000,
    trainingRows: 500,
    switches,
    priorWeight: switches.prior ? 0.7 : 0,
    cpuSecondsPerRequest: 0.004,
    baseSeconds: 0.01,
    spans: SPANS.slice(0, width),
    hidden: shape.hidden,
    activation: "tanh",
    members: Array.from({ length: members }, draw),
    interval: { low: -1.2, high: 1.4 },
    errors: { rows: 100, meanAbsoluteRatio: 0.1, coverage: 0.9 },
  };
}

/** Inputs inside the spans, away from their edges. */
export function randomInput(rng: Rng): Float64Array {
  const between = (low: number, high: number): number => low + (high - low) * (0.02 + 0.96 * rng());
  const cores = between(0.2, 2);
  const seconds = between(0.001, 0.01);
  const used = between(0.01, 1.4);
  return Float64Array.of(
    cores,
    between(64e6, 2e9),
    Math.min(399, (used * cores) / seconds),
    between(0, 0.9),
    between(0, 0.5),
    0,
    between(0, 0.7),
    seconds,
    between(1.2e-3, 0.09),
  );
}
