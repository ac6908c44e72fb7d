import { z } from "zod";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { setTimeout as delay } from "node:timers/promises";

const LOOK_MS = 250;

const Pods = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string(), namespace: z.string() }) })),
});

/** In the place of kubelets: says of every pod that it runs and is ready. Nothing runs. */
export function startPodStatus(api: ApiClient): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const look = async (): Promise<void> => {
    const query = { fieldSelector: "status.phase=Pending" };
    const { items } = Pods.parse(await api.call({ resource: RESOURCES.pods, verb: "list", query, signal }));
    for (const { metadata } of items) {
      const place = { resource: RESOURCES.pods, ...metadata, subresource: "status" };
      await api.patch(place, "merge", { status: running(new Date().toISOString()) }, signal);
    }
  };
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      // A pod may be gone between the two calls.
      await look().catch((error: unknown) => {
        if (!(error instanceof TradewindError)) throw error;
      });
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const ended = loop();
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

const running = (now: string): object => ({
  phase: "Running",
  startTime: now,
  conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: now,
  })),
});
