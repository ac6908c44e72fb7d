import type { Rng } from "@tradewind/core/rng.ts";
import { standardNormal } from "@tradewind/core/rng.ts";
import { attentionLayout } from "@tradewind/predictor/endtoend/attention-model.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";

/** A residual of services `s0`, `s1`, … with random weights, for own tails between 1 ms and 1 s. */
export function randomResidual(services: number, rng: Rng): AttentionModel {
  const shape = { services, width: 3, hidden: 5 };
  return {
    flow: "GET /",
    percentile: 0.95,
    version: 1,
    trainedAtMs: 1_700_000_000_000,
    trainingRows: 200,
    services: Array.from({ length: services }, (_, service) => `s${service}`),
    width: shape.width,
    hidden: shape.hidden,
    scales: Array.from({ length: 2 * services }, () => ({
      centre: -3.5 + 0.3 * standardNormal(rng),
      scale: 0.5 + rng(),
      low: Math.log(1e-3),
      high: 0,
    })),
    bound: Math.log(4),
    parameters: Float64Array.from({ length: attentionLayout(shape).length }, () =>
      Math.fround(0.6 * standardNormal(rng)),
    ),
    errors: { rows: 40, meanAbsoluteRatio: 0.06, priorAbsoluteRatio: 0.11 },
  };
}

/** Own tails inside the range above. */
export const randomTails = (services: number, rng: Rng): Float64Array =>
  Float64Array.from({ length: services }, () => 2e-3 * 300 ** rng());
