import { z } from "zod";

/** One component of the interference vector. */
export const InterferenceComponent = z.strictObject({
  /** False when no source on this node can tell; then `value` is absent, never 0. */
  supported: z.boolean(),
  /** Ratio in [0, 1]: 0 undisturbed, 1 fully taken by others. Absent when unsupported or not sampled yet. */
  value: z.number().min(0).max(1).optional(),
  /** The formula in use, for example `others-share+psi`; names the fallback when one is used. */
  source: z.string().max(64).optional(),
});
export type InterferenceComponent = z.infer<typeof InterferenceComponent>;

/** What others do to a container (or to the node), excluding what the container itself uses. */
export const Interference = z.strictObject({
  cpu: InterferenceComponent,
  memoryCapacity: InterferenceComponent,
  memoryBandwidth: InterferenceComponent,
  network: InterferenceComponent,
});
export type Interference = z.infer<typeof Interference>;

export const INTERFERENCE_COMPONENTS = ["cpu", "memoryCapacity", "memoryBandwidth", "network"] as const;
export type InterferenceName = (typeof INTERFERENCE_COMPONENTS)[number];
