import { z } from "zod";
import { EpochMs, NonNegative, ObjectName } from "./quantity.ts";

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

export const SHADOW_SCHEMA = "tradewind.dev/shadow/v1";

/** The last seven days of an application beside what the HPA before would have come to: `GET /v1/shadow` of the predictor and the scaler. */
export const ShadowWeek = z.strictObject({
  schema: z.literal(SHADOW_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** What the prices are in; absent where the application does not say it. */
  currency: z.string().max(8).optional(),
  /** Absent before the first window that live models decided. */
  week: ShadowComparison.optional(),
});
export type ShadowWeek = z.infer<typeof ShadowWeek>;
