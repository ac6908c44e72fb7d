import type { Clock } from "@tradewind/core/process/clock.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import type { Registry } from "prom-client";

/** The predictor's way to the Kubernetes API. */
export interface Cluster {
  readonly client: ApiClient;
  readonly metrics: KubernetesMetrics;
}

/** @throws TradewindError `invalid-kubeconfig` */
export async function openCluster(options: {
  readonly kubeconfig: string | undefined;
  readonly clock: Clock;
  readonly registry: Registry;
}): Promise<Cluster> {
  const { clock, kubeconfig, registry } = options;
  const connection = await connect({ kubeconfig, environment: process.env });
  const metrics = new KubernetesMetrics(registry);
  return { client: new ApiClient(connection, { clock, observer: metrics }), metrics };
}
