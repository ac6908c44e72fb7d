import { z } from "zod";
import { ServiceName } from "@tradewind/core/contract/quantity.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";

export const JaegerOptions = EndpointOptions.extend({
  name: z.string().min(1).max(63).default("jaeger"),
  api: z.enum(["v1", "v3"]).default("v1").describe("v1: /api/traces; v3: /api/v3/traces, OTLP."),
  services: z
    .array(ServiceName)
    .max(100)
    .default([])
    .describe("Services whose traces are asked for; the application's entries when empty."),
  limit: z.number().int().min(1).max(10_000).default(500).describe("Traces per question."),
  maxRequests: z.number().int().min(1).max(1_000).default(32).describe("Questions per service and interval."),
  graceSeconds: z
    .number()
    .min(0)
    .max(600)
    .default(15)
    .describe("How long after it began a trace is complete."),
});
export type JaegerOptions = z.infer<typeof JaegerOptions>;
