import { Count, ObjectName, ServiceName } from "@tradewind/core/contract/quantity.ts";
import { ShadowComparison } from "@tradewind/core/contract/shadow.ts";
import { z } from "zod";

/** What is compared is kept for so many hours: 60 days, the longest report. */
export const MOST_HOURS = 1_440;
/** Errors of the models that are kept, one for each block of windows. */
export const MOST_BLOCKS = 2_016;
export const MOST_SERVICES = 10_000;

export const SHADOW_STATE_SCHEMA = "tradewind.dev/shadow-state/v1";

/** What is kept of an application's shadow. */
export const ShadowState = z.strictObject({
  schema: z.literal(SHADOW_STATE_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  services: z
    .array(
      z.strictObject({
        service: ServiceName,
        /** Fewest, as expected, and most. */
        replicas: z.tuple([Count, Count, Count]),
        /** Of each container, as it was before anything resized it. */
        cpuCores: z.number().positive(),
        memoryBytes: z.number().min(0),
        requestedCores: z.number().positive(),
        limitCores: z.number().positive().optional(),
      }),
    )
    .max(MOST_SERVICES),
  /** Means of ln(measured over predicted) of blocks of windows, oldest first. */
  blocks: z.array(z.number()).max(MOST_BLOCKS),
  /** Oldest first, each of one hour. */
  hours: z.array(ShadowComparison).max(MOST_HOURS),
});
export type ShadowState = z.infer<typeof ShadowState>;

export const emptyShadow = (application: string, namespace: string): ShadowState => ({
  schema: SHADOW_STATE_SCHEMA,
  application,
  namespace,
  services: [],
  blocks: [],
  hours: [],
});
