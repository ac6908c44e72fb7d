import { z } from "zod";
import { Prices } from "@tradewind/core/contract/prices.ts";
import { Identity } from "@tradewind/kubernetes/objects/metadata.ts";
import type { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import type { Reflector } from "@tradewind/kubernetes/watch/reflector.ts";
import type { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";

/** An Application resource, as far as its writer needs it. */
export const ApplicationObject = z.object({
  metadata: Identity.extend({ generation: z.number().optional() }),
  spec: z.object({
    prices: z.object(Prices.shape).prefault({}),
    services: z
      .array(
        z.object({
          name: z.string(),
          workload: z.object({ kind: z.string().default("Deployment"), name: z.string() }).optional(),
        }),
      )
      .nullish(),
  }),
  status: z
    .object({
      observedGeneration: z.number().nullish(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), lastTransitionTime: z.string() }))
        .nullish(),
    })
    .nullish(),
});
export type ApplicationObject = z.infer<typeof ApplicationObject>;

export interface NamespaceWatches {
  readonly workloads: ClusterWatch;
  readonly applications: Reflector<ApplicationObject> | undefined;
  readonly vpas: Reflector<VerticalPodAutoscaler> | undefined;
}
