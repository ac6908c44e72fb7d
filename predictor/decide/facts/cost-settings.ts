import { z } from "zod";

/** What the decision by cost is set by; docs/decide.md lists them with the ablations that were made. */
export const CostSettings = z.strictObject({
  /** What using up the error budget once is worth at first, over the price of the least sizes that carry the load; see `worthOf`. */
  worth: z.number().positive().default(0.25),
  /** Until it has been measured: time from a decision to pods that serve, seconds. */
  startSeconds: z.number().positive().default(75),
  /** For how long a decision stands before the platform undoes it, seconds: the stabilization window of an HPA. */
  standSeconds: z.number().positive().default(300),
  /** Until whoever resizes gives back CPU that a container is not to have any more, seconds: the scaler holds it for so long. */
  shrinkSeconds: z.number().min(0).default(60),
  /** Seasons of the load that have proven themselves say what load will come. */
  seasons: z.boolean().default(true),
  /** The latency network has a say in what other sizes and loads come to, as far as its record of changes is better than the curve's (docs/profiles.md). */
  network: z.boolean().default(true),
  /** Measured CPU speeds of node classes count. */
  nodeSpeeds: z.boolean().default(true),
  /** CPU demand over capacity that no size goes beyond. */
  mostUtilisation: z.number().gt(0).lt(1).default(0.95),
  /** Utilisation of the roomy sizes that the second search starts from. */
  roomyUtilisation: z.number().gt(0).lt(1).default(0.4),
  /** A decision asks for at most this many times what runs. */
  mostGrowth: z.number().min(1).default(3),
  /** A container counts as young for this time, seconds. */
  youngSeconds: z.number().min(0).default(120),
  /** Memory kept over the highest use seen. */
  memoryRatio: z.number().min(1).default(1.3),
});
export type CostSettings = z.infer<typeof CostSettings>;
