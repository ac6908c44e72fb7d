import { z } from "zod";

const Days = z.number().positive().max(3_650);

/** How much history the embedded store keeps, and how fine. */
export const StoreOptions = z.strictObject({
  rawDays: Days.default(2).describe("Windows as measured."),
  fiveMinuteDays: Days.default(14).describe("Windows summed up to five minutes."),
  hourDays: Days.default(90).describe("Windows summed up to an hour."),
  decisionDays: Days.default(90).describe("Decisions that changed a size, at most the newest 50,000."),
  maxBytes: z
    .number()
    .int()
    .min(1_048_576)
    .default(4 * 1_073_741_824)
    .describe("Above this size the oldest windows go first, before their time."),
  flushSeconds: z
    .number()
    .positive()
    .max(300)
    .default(5)
    .describe("Windows are written so often, in one go."),
  maxPendingWindows: z
    .number()
    .int()
    .min(100)
    .max(5_000_000)
    .default(50_000)
    .describe(
      "Windows of all applications held in memory while they cannot be written, in 64 MiB at most; the oldest go first.",
    ),
});
export type StoreOptions = z.infer<typeof StoreOptions>;
