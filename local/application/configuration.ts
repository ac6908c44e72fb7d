import type { z } from "zod";
import type { ApplicationMode } from "@tradewind/core/contract/plan.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Topology } from "./topology.ts";

/** What the predictor is told about the application: the same that a user writes for their own. */
export function applicationConfiguration(
  topology: Topology,
  namespace: string,
  { mode, objectiveSeconds }: { readonly mode: ApplicationMode; readonly objectiveSeconds: number },
): z.input<typeof Application> {
  return {
    name: topology.name,
    namespace,
    entry: topology.entry,
    objective: { percentile: 0.95, milliseconds: objectiveSeconds * 1e3, windowSeconds: 15 },
    mode,
    // Limits are rewritten under running replicas.
    resize: "limits",
    services: topology.services.map(({ name, minReplicas, maxReplicas, sizeBounds: { min, max, step } }) => ({
      name,
      minReplicas,
      maxReplicas,
      cpu: { minCores: min.cpuCores, maxCores: max.cpuCores, stepCores: step.cpuCores },
      memory: { minBytes: min.memoryBytes, maxBytes: max.memoryBytes, stepBytes: step.memoryBytes },
    })),
  };
}
