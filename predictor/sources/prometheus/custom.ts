import { z } from "zod";
import type { Labels } from "./api.ts";
import { knownService } from "./mapping.ts";
import type { RedMapping, ServiceKey } from "./mapping.ts";
import type { RateQuery } from "./rates.ts";

const Expression = z.string().min(1).max(10_000);

/**
 * A mapping in the user's own PromQL. Expressions give one series per service (and per what is named below); `$range`
 * stands for the range of `rate()`, `$matchers` for the source's conditions on labels.
 */
export const CustomMapping = z.strictObject({
  requestsPerSecond: Expression.describe("For example: sum by (app) (rate(http_requests_total[$range]))"),
  errorsPerSecond: Expression.optional(),
  latencyBuckets: Expression.optional().describe(
    "Bucket rates with their le label: sum by (app, le) (rate(http_duration_seconds_bucket[$range]))",
  ),
  latencySum: Expression.optional().describe("sum by (app) (rate(http_duration_seconds_sum[$range]))"),
  latencyNative: Expression.optional().describe(
    "A native histogram: sum by (app) (rate(http_duration_seconds[$range]))",
  ),
  latencyUnit: z.enum(["seconds", "milliseconds"]).default("seconds"),
  callsPerSecond: Expression.optional().describe("Calls between services, by callerLabel and calleeLabel."),
  callsSum: Expression.optional().describe(
    "Their latency sum as the caller sees it, in latencyUnit per second.",
  ),
  serviceLabel: z.string().min(1).max(200).default("service"),
  namespaceLabel: z.string().min(1).max(200).default("namespace"),
  callerLabel: z.string().min(1).max(200).default("client"),
  calleeLabel: z.string().min(1).max(200).default("server"),
});
export type CustomMapping = z.infer<typeof CustomMapping>;

const expression = (text: string): RateQuery => ({ kind: "expression", expression: text });

export function custom(options: CustomMapping): RedMapping {
  const unitSeconds = options.latencyUnit === "milliseconds" ? 0.001 : 1;
  const by =
    (label: string) =>
    (labels: Labels): ServiceKey | undefined =>
      knownService(labels[label], labels[options.namespaceLabel]);
  const { latencyBuckets, latencySum, latencyNative, callsPerSecond, callsSum, errorsPerSecond } = options;
  return {
    name: "custom",
    requests: expression(options.requestsPerSecond),
    ...(errorsPerSecond === undefined ? {} : { errors: expression(errorsPerSecond) }),
    latency: {
      ...(latencyBuckets === undefined ? {} : { buckets: expression(latencyBuckets) }),
      ...(latencySum === undefined ? {} : { sum: expression(latencySum) }),
      ...(latencyNative === undefined ? {} : { native: expression(latencyNative) }),
      unitSeconds,
    },
    service: by(options.serviceLabel),
    failed: () => false,
    ...(callsPerSecond === undefined
      ? {}
      : {
          calls: {
            count: expression(callsPerSecond),
            ...(callsSum === undefined ? {} : { sum: expression(callsSum) }),
            unitSeconds,
            caller: by(options.callerLabel),
            callee: by(options.calleeLabel),
          },
        }),
  };
}
