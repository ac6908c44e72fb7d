import { z } from "zod";
import { duration } from "../duration.ts";
import { ANOMALY_RESOURCES } from "../interference/anomaly.ts";

/** What `tradewind inject` can be told. */
export const InjectOptions = z.strictObject({
  resource: z.enum(ANOMALY_RESOURCES),
  /** Judged with the machine at hand, see `planAnomaly`. */
  intensity: z.coerce.number(),
  /** s */
  for: duration(1, 3_600, "--for").prefault("60s"),
  tool: z.enum(["auto", "built-in"]).default("auto"),
});
export type InjectOptions = z.output<typeof InjectOptions>;
export type InjectInput = z.input<typeof InjectOptions>;
