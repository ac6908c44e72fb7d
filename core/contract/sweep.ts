import { z } from "zod";
import { Count, NonNegative } from "./quantity.ts";
import { FlowWindow, Window } from "./window.ts";

export const SWEEP_SCHEMA = "tradewind.dev/sweep/v1";

/**
 * One line of a profiling sweep (JSON lines): a window measured while a service ran in a known configuration. Lines are in
 * the order of time.
 */
export const SweepRow = z.strictObject({
  schema: z.literal(SWEEP_SCHEMA),
  /** What was set, as opposed to what the window measured. Equal settings have equal ids. */
  configuration: z.strictObject({
    id: z.string().min(1).max(200),
    replicas: Count,
    cpuCores: z.number().positive(),
    memoryBytes: z.number().positive().optional(),
    /** Load offered to the application, requests per second. */
    requestsPerSecond: NonNegative,
    /** `none`, or what was disturbed and how much, for example `cpu-0.5`. */
    interference: z.string().min(1).max(64),
  }),
  /** False for windows in which the configuration was still settling: never learnt or judged. */
  settled: z.boolean(),
  window: Window,
  /** End-to-end latency of every flow in the same interval: on the row of the entry service. */
  flows: z.array(FlowWindow).max(1_000).optional(),
});
export type SweepRow = z.infer<typeof SweepRow>;
