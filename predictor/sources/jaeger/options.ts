import { z } from "zod";
import { SearchOptions } from "../traces/service-search.ts";

export const JaegerOptions = SearchOptions.extend({
  name: z.string().min(1).max(63).default("jaeger"),
  api: z.enum(["v1", "v3"]).default("v1").describe("v1: /api/traces; v3: /api/v3/traces, OTLP."),
});
export type JaegerOptions = z.infer<typeof JaegerOptions>;
