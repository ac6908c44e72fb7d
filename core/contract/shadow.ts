import { z } from "zod";
import { EpochMs, NonNegative } from "./quantity.ts";

/** A figure of the shadow, and the least and the most that it may have been by the measured error of the models. */
export const ShadowRange = z.strictObject({ low: NonNegative, middle: NonNegative, high: NonNegative });
export type ShadowRange = z.infer<typeof ShadowRange>;

/** What ran beside what the HPA before would have run, of the same requests: sums over whole hours. */
export const ShadowComparison = z.strictObject({
  /** Begin of the first window that both were decided of, and end of the last one. */
  fromMs: EpochMs,
  toMs: EpochMs,
  /** Length of all those windows together. */
  seconds: NonNegative,
  requests: NonNegative,
  /** Measured: requests over the objective or failed, and the price of the replicas that were ready. */
  requestsOver: NonNegative,
  cost: NonNegative,
  /** The same as the HPA would have had it. */
  hpaRequestsOver: ShadowRange,
  hpaCost: ShadowRange,
});
export type ShadowComparison = z.infer<typeof ShadowComparison>;
