import { describe, expect, it } from "vitest";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import { proposeByUtilisation } from "@tradewind/core/hpa/resource-metric.ts";
import { measuredPod } from "@tradewind/simulator/control/autoscaler.ts";
import type { PodView } from "@tradewind/simulator/world.ts";

const NOW_MS = 1_750_000_600_000;

const pod = (change: Partial<PodView>): PodView => ({
  name: "web-1",
  service: "web",
  node: "a",
  phase: "ready",
  createdAtMs: NOW_MS - 3_600_000,
  readyAtMs: NOW_MS - 3_570_000,
  cpuRequestCores: 1,
  memoryRequestBytes: 256e6,
  oomKills: 0,
  sidecars: [],
  ...change,
});
const { readyAtMs: _, ...unready } = pod({ name: "web-3", phase: "starting", createdAtMs: NOW_MS - 20_000 });

/** Two pods that use a tenth of their CPU, and a third one. Target 60 %. */
const proposed = (third: PodView): number | undefined =>
  proposeByUtilisation(
    [pod({ cpuUsageCores: 0.1 }), pod({ name: "web-2", cpuUsageCores: 0.1 }), third].map((each) =>
      measuredPod(each, NOW_MS),
    ),
    { targetPercent: 60, behavior: KUBERNETES_DEFAULT_BEHAVIOR },
    3,
    NOW_MS,
  )?.replicas;

describe("an HPA on the way down", () => {
  it("leaves a pod that starts out, for its container runs and is scraped", () => {
    // 10 % of 60 % for the two that serve: one replica. A pod without any sample counts as full: 40 % of 60 % for three.
    expect(proposed(unready)).toBe(1);
  });

  it("takes a pod that serves and has no sample to use all it requests", () => {
    expect(proposed(pod({ name: "web-3" }))).toBe(2);
  });
});
