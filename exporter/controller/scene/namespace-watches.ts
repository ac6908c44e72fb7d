import { z } from "zod";
import { Prices } from "@tradewind/core/contract/prices.ts";
import { ListOf } from "@tradewind/kubernetes/objects/bounded.ts";
import { Identity } from "@tradewind/kubernetes/objects/metadata.ts";
import type { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import type { Reflector } from "@tradewind/kubernetes/watch/reflector.ts";
import type { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { NamingServices } from "@tradewind/kubernetes/workloads/named-kinds.ts";

const MOST_CONDITIONS = 100;

/** An Application resource, as far as its writer needs it. */
export const ApplicationObject = z.object({
  metadata: Identity.extend({ generation: z.number().optional() }),
  spec: z.object({
    prices: z.object(Prices.shape).prefault({}),
    services: NamingServices,
  }),
  status: z
    .object({
      observedGeneration: z.number().nullish(),
      conditions: ListOf(
        z.object({ type: z.string(), status: z.string(), lastTransitionTime: z.string() }),
        MOST_CONDITIONS,
      ),
    })
    .nullish(),
});
export type ApplicationObject = z.infer<typeof ApplicationObject>;

export interface NamespaceWatches {
  readonly workloads: ClusterWatch;
  readonly applications: Reflector<ApplicationObject> | undefined;
  readonly vpas: Reflector<VerticalPodAutoscaler> | undefined;
}
