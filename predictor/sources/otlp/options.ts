import { z } from "zod";
import { MAX_ADJUSTED_COUNT } from "../../window/limits.ts";

/** How spans that senders push are counted. */
export const OtlpOptions = z.strictObject({
  assumedSamplingRatio: z
    .number()
    .positive()
    .max(1)
    .default(1)
    .describe("Sampling probability of spans that do not say their own; 1 is no sampling."),
  maxSpanWeight: z
    .number()
    .min(1)
    .max(MAX_ADJUSTED_COUNT)
    .default(1_000)
    .describe("Requests that one span may stand for before most spans of its service say as much."),
});
