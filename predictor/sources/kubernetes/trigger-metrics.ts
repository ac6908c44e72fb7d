import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { RecommendationTrigger } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";

/** Shows at each scrape whether the HPAs that KEDA made of ScaledObjects still read what Tradewind recommends. */
export function registerTriggerMetrics(
  registry: Registry,
  triggers: () => readonly RecommendationTrigger[],
): void {
  const gauge = new Gauge({
    name: "tradewind_hpa_without_recommendation",
    help: "1 where a ScaledObject asks Tradewind for this service and the HPA that KEDA made of it does not, else 0. Absent without such an HPA.",
    labelNames: ["namespace", "service"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { hpa, lost, namespace, service } of triggers()) {
        if (hpa !== undefined) this.inc({ namespace, service }, Number(lost));
      }
    },
  });
  gauge.reset();
}
