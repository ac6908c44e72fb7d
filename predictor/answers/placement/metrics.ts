import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Placing } from "./placing.ts";

/** The measured speed of each node class: at most 17 series, none where all nodes are of one class. */
export function registerNodeClassMetrics(registry: Registry, placing: Placing): void {
  const gauge = new Gauge({
    name: "tradewind_predictor_node_class_speed_ratio",
    help: "CPU work done in a second of CPU time on nodes of a class over that of the reference class, as measured; 1 while not measured.",
    labelNames: ["node_class"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { nodeClass, speed } of placing.classes()) this.set({ node_class: nodeClass }, speed);
    },
  });
  gauge.reset();
}
