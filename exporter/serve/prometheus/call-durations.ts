import type { Histogram } from "prom-client";
import { CALL_BUCKETS_SECONDS } from "../keda/call-counts.ts";
import type { CallSeries } from "../keda/call-counts.ts";

const NAME = "tradewind_keda_rpc_duration_seconds";

interface Value {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * The calls of KEDA, as a histogram for a registry. They are counted where they are answered, so what is here takes whole counts
 * where the library's own histogram takes single values.
 */
export function callDurations(calls: () => readonly CallSeries[]): Histogram {
  const metric = {
    name: NAME,
    help: "Time from the headers of a KEDA call to its status, by RPC and gRPC status.",
    type: "histogram",
    labelNames: ["rpc", "code"],
    aggregator: "sum",
    get: async () => ({ ...metric, values: calls().flatMap(valuesOf) }),
  };
  // All that a registry asks of a metric.
  return metric as unknown as Histogram;
}

function valuesOf({ code, counts, rpc, sumSeconds }: CallSeries): Value[] {
  const values: Value[] = [];
  let total = 0;
  for (const [bucket, count] of counts.entries()) {
    total += count;
    const le = CALL_BUCKETS_SECONDS[bucket] ?? "+Inf";
    values.push({ metricName: `${NAME}_bucket`, labels: { le, rpc, code }, value: total });
  }
  values.push({ metricName: `${NAME}_sum`, labels: { rpc, code }, value: sumSeconds });
  values.push({ metricName: `${NAME}_count`, labels: { rpc, code }, value: total });
  return values;
}
