import { z } from "zod";
import { Timestamp } from "../objects/metadata.ts";

/** A `coordination.k8s.io/v1` Lease, as far as leader election uses it. */
export const Lease = z.object({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    resourceVersion: z.string(),
  }),
  spec: z
    .object({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      leaseTransitions: z.number().int().nullish(),
      acquireTime: z.string().nullish(),
      renewTime: Timestamp,
    })
    .nullish(),
});
export type Lease = z.infer<typeof Lease>;

/** A time with microseconds, as Leases and Events carry it. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
