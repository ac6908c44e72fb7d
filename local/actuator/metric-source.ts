import type { ExternalMetric } from "@tradewind/core/hpa/hpa.ts";
import type { ResourceMetric } from "@tradewind/core/hpa/resource-metric.ts";
import type { ScalingRule } from "./scaled-object.ts";

/** One reading of what an autoscaler scales by. */
export interface MetricReading<Metric = ExternalMetric | ResourceMetric> {
  /** One for each metric; the autoscaler takes the largest proposal. */
  readonly metrics: readonly ({ readonly name: string } & Metric)[];
  /** KEDA's activity: false lets it stop the last replica where the object allows none. */
  readonly active: boolean;
}

/** Where an autoscaler reads its metrics: KEDA asks the external scaler, others ask what a cluster's metrics servers ask. */
export interface MetricSource<Rule extends ScalingRule> {
  /** @throws when there is no value: replicas stay as they are */
  read(rule: Rule): Promise<MetricReading>;
  close(): void;
}
