import { z } from "zod";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { ObjectName, patternedText } from "@tradewind/core/contract/quantity.ts";
import { CustomMapping } from "./custom.ts";

export const PrometheusOptions = EndpointOptions.extend({
  name: z.string().min(1).max(63).default("prometheus"),
  metrics: z
    .enum([
      "auto",
      "istio",
      "linkerd",
      "hubble",
      "otel",
      "semconv",
      "http",
      "nginx",
      "traefik",
      "envoy",
      "custom",
      "none",
    ])
    .default("auto")
    .describe(
      "Family of request metrics; auto takes that of most services of the application, none reads resources only.",
    ),
  custom: CustomMapping.optional().describe("Your own PromQL, with metrics: custom."),
  namespaces: z.array(ObjectName).max(100).default([]).describe("Asked for; all when empty."),
  matchers: z
    .record(patternedText(200, /^[a-zA-Z_][a-zA-Z0-9_]*$/), z.string().max(1_000))
    .default({})
    .describe("Labels that all series have, for example cluster: eu. In PromQL of your own write $matchers."),
  resources: z
    .boolean()
    .default(false)
    .describe("Read containers and nodes from cAdvisor, kube-state-metrics and node_exporter series."),
  strategy: z
    .enum(["auto", "samples", "server"])
    .default("auto")
    .describe("Whether counters are read as samples (exact) or as rates of the server (scales)."),
  maxSampledSeries: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(20_000)
    .describe("With strategy auto: above so many bucket series the server forms the rates."),
  scrapeIntervalSeconds: z
    .number()
    .positive()
    .max(600)
    .default(15)
    .describe("Until the real one has been measured, which takes two samples."),
  lookbackSeconds: z
    .number()
    .positive()
    .max(600)
    .default(60)
    .describe("How old a counter's sample before a window may be."),
  graceSeconds: z
    .number()
    .min(0)
    .max(600)
    .default(5)
    .describe("How long after a window its samples may arrive."),
  concurrency: z
    .number()
    .int()
    .min(1)
    .max(64)
    .default(4)
    .describe("Questions asked at once; those of backfill are counted apart, and at most 8."),
  backfill: z
    .strictObject({
      enabled: z.boolean().default(true),
      days: z.number().positive().max(14).default(14),
      concurrency: z.number().int().min(1).max(16).default(2),
      maxSamplesPerQuery: z.number().int().min(1_000).max(50_000_000).default(300_000),
      slowSeconds: z
        .number()
        .positive()
        .default(5)
        .describe("A chunk that takes longer makes the next ones smaller."),
    })
    .prefault({}),
}).superRefine((options, context) => {
  if ((options.metrics === "custom") !== (options.custom !== undefined)) {
    context.addIssue({
      code: "custom",
      path: ["custom"],
      message: "custom and metrics: custom belong together",
    });
  }
  const {
    calleeLabel: _callee,
    callerLabel: _caller,
    latencyUnit: _unit,
    namespaceLabel: _namespace,
    serviceLabel: _service,
    ...expressions
  } = options.custom ?? {};
  const own = Object.values(expressions);
  if (Object.keys(options.matchers).length > 0 && own.some((text) => text?.includes("$matchers") === false)) {
    context.addIssue({
      code: "custom",
      path: ["matchers"],
      message: "write $matchers between the braces of every expression of custom, where matchers go",
    });
  }
});
export type PrometheusOptions = z.infer<typeof PrometheusOptions>;
