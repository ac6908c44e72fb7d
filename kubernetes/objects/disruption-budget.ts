import { z } from "zod";
import { Identity } from "./metadata.ts";
import { LabelSelector } from "./label-selector.ts";

/** How many of the pods that it selects may be taken down at once, as the control plane counts them. */
export const PodDisruptionBudget = z
  .object({
    metadata: Identity.extend({ generation: z.number().nullish() }),
    spec: z.object({ selector: LabelSelector.nullish() }).nullish(),
    status: z
      .object({ disruptionsAllowed: z.number().int().nullish(), observedGeneration: z.number().nullish() })
      .nullish(),
  })
  .transform(({ metadata: { generation, name, namespace }, spec, status }) => {
    const isOld = (status?.observedGeneration ?? 0) < (generation ?? 0);
    return {
      name,
      namespace,
      /** Without one no pod is selected. */
      selector: spec?.selector ?? undefined,
      /** 0 until the control plane has counted for the newest state of the budget. */
      allowed: isOld ? 0 : Math.max(0, status?.disruptionsAllowed ?? 0),
    };
  });
export type PodDisruptionBudget = z.infer<typeof PodDisruptionBudget>;
