import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { Quantity } from "@tradewind/kubernetes/objects/quantity.ts";
import type { PodSample, PodTotals } from "./pods.ts";

const LOOK_MS = 1_000;

/** On pods that nobody scales, which are not counted. */
export const FIXED_LABEL = "tradewind.dev/fixed";

const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()).default({}) }),
      spec: z.object({
        containers: z.array(
          z.object({
            resources: z.object({ requests: z.object({ cpu: Quantity.optional() }).optional() }).optional(),
          }),
        ),
      }),
      status: z.object({ phase: z.string().optional() }),
    }),
  ),
});

/** Counts the pods of a namespace that are scaled and have not ended, by their label `app`. */
export async function countPods(api: ApiClient, namespace: string): Promise<PodTotals> {
  const query = { labelSelector: `!${FIXED_LABEL}` };
  const { items } = Pods.parse(await api.call({ resource: RESOURCES.pods, namespace, verb: "list", query }));
  const pods: Record<string, number> = {};
  let requestedCores = 0;
  for (const { metadata, spec, status } of items) {
    const app = metadata.labels["app"];
    if (app === undefined || status.phase === "Succeeded" || status.phase === "Failed") continue;
    pods[app] = (pods[app] ?? 0) + 1;
    for (const { resources } of spec.containers) requestedCores += resources?.requests?.cpu ?? 0;
  }
  return { pods, requestedCores };
}

export interface PodWatch {
  readonly samples: readonly PodSample[];
  stop(): Promise<void>;
}

/** Counts them each second until it is stopped. A count that cannot be had is left out. */
export function watchPods(api: ApiClient, namespace: string): PodWatch {
  const stopped = new AbortController();
  const samples: PodSample[] = [];
  const watch = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const nowMs = performance.now();
      const totals = await countPods(api, namespace).catch(() => undefined);
      if (totals !== undefined) samples.push({ nowMs, ...totals });
      const waitMs = Math.max(0, nowMs + LOOK_MS - performance.now());
      await delay(waitMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const watching = watch();
  return {
    samples,
    stop: async () => {
      stopped.abort();
      await watching;
    },
  };
}
