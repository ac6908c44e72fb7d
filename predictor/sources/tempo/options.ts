import { z } from "zod";
import { ServiceName } from "@tradewind/core/contract/quantity.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";

export const TempoOptions = EndpointOptions.extend({
  name: z.string().min(1).max(63).default("tempo"),
  api: z.enum(["v1", "v2"]).default("v1").describe("Of traces by id: /api/traces or /api/v2/traces."),
  service: ServiceName.optional().describe(
    "Whose traces are asked for; the application's entries if absent.",
  ),
  query: z
    .string()
    .min(1)
    .max(2_000)
    .optional()
    .describe("TraceQL in place of the search by service, for example to name an environment."),
  limit: z.number().int().min(1).max(10_000).default(200).describe("Trace ids per search."),
  maxTraces: z
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(200)
    .describe("Traces fetched per interval; of more a sample is taken and counted up."),
  concurrency: z.number().int().min(1).max(32).default(4),
  maxRequests: z.number().int().min(1).max(1_000).default(16).describe("Searches per interval."),
  graceSeconds: z
    .number()
    .min(0)
    .max(600)
    .default(30)
    .describe("How long after it began a trace can be found."),
});
export type TempoOptions = z.infer<typeof TempoOptions>;
