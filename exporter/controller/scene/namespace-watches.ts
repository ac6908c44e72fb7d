import { z } from "zod";
import { Prices } from "@tradewind/core/contract/prices.ts";
import { ListOf } from "@tradewind/kubernetes/objects/bounded.ts";
import { Identity } from "@tradewind/kubernetes/objects/metadata.ts";
import type { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import type { Reflector } from "@tradewind/kubernetes/watch/reflector.ts";
import type { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";

/** As the Application's own schema allows. */
const MOST_SERVICES = 5_000;
const MOST_CONDITIONS = 100;

/** An Application resource, as far as its writer needs it. */
export const ApplicationObject = z.object({
  metadata: Identity.extend({ generation: z.number().optional() }),
  spec: z.object({
    prices: z.object(Prices.shape).prefault({}),
    services: ListOf(
      z.object({
        name: z.string(),
        workload: z
          .object({
            apiVersion: z.string().optional(),
            kind: z.string().default("Deployment"),
            name: z.string(),
          })
          .optional(),
      }),
      MOST_SERVICES,
    ),
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
