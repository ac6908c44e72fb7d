import type { Load } from "../model/plant-model.ts";

/** Requests per second of the shop in most obstacles. */
export const USUAL = 60;

export const steady =
  (requestsPerSecond = USUAL): Load =>
  () =>
    requestsPerSecond;

/** Up and down around a mean, beginning at it and rising. */
export const wave =
  (mean: number, amplitude: number, periodSeconds: number): Load =>
  (at) =>
    mean + amplitude * Math.sin((2 * Math.PI * at) / periodSeconds);

/** `factor` times the load from one time to another, reached and left evenly within `rampSeconds`. */
export const surge =
  (
    base: Load,
    factor: number,
    { from, ramp = 10, until }: { readonly from: number; readonly until: number; readonly ramp?: number },
  ): Load =>
  (at) => {
    const share = Math.max(0, Math.min(1, (at - from) / ramp, (until - at) / ramp));
    return base(at) * (1 + (factor - 1) * share);
  };
