import { z } from "zod";
import { DEFAULT_WINDOW_LIMITS, MAX_ADJUSTED_COUNT } from "../../window/limits.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";

/** How spans that senders push are counted, and how many one sender may push. */
export const OtlpOptions = z.strictObject({
  assumedSamplingRatio: z
    .number()
    .positive()
    .max(1)
    .default(DEFAULT_WINDOW_LIMITS.assumedSamplingRatio)
    .describe("Sampling probability of spans that do not say their own; 1 is no sampling."),
  cluster: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe(
      "k8s.cluster.name of this cluster; spans that name another one are refused. Default: those that the application's pods name.",
    ),
  environment: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe(
      "deployment.environment.name of this application; spans that name another one are refused. Default: those that its pods name.",
    ),
  maxSpanWeight: z
    .number()
    .min(1)
    .max(MAX_ADJUSTED_COUNT)
    .default(DEFAULT_WINDOW_LIMITS.maxSpanWeight)
    .describe("Requests that one span may stand for before most spans of its service say as much."),
  maxSenderSpansPerSecond: z
    .number()
    .positive()
    .max(1e9)
    .default(DEFAULT_RECEIVER_LIMITS.maxSenderSpansPerSecond)
    .describe("Spans that one remote address may send per second; bursts of 4 s are let through."),
  maxSenderBytesPerSecond: z
    .number()
    .positive()
    .max(1e12)
    .default(DEFAULT_RECEIVER_LIMITS.maxSenderBytesPerSecond)
    .describe("As maxSenderSpansPerSecond, in bytes after decompression."),
});
export type OtlpOptions = z.infer<typeof OtlpOptions>;
