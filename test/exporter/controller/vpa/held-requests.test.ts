import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { SettledSizes } from "@tradewind/exporter/controller/sizing/settled-sizes.ts";
import { advise, requestedSizes } from "@tradewind/exporter/controller/vpa/recommend.ts";
import { vpaStatus } from "@tradewind/exporter/controller/vpa/status.ts";
import type { VpaStatus } from "@tradewind/exporter/controller/vpa/status.ts";
import { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import { expect, it } from "vitest";
import { cartPod, MEBI } from "../sizing/pods.ts";

const MINUTE_MS = 60_000;
const NEED = { cpuCores: 0.25, memoryBytes: 300 * MEBI };

type Controlled = "RequestsAndLimits" | "RequestsOnly";

/** Requests of a pod after each minute in which the same was recommended, as VPA's updater would make them. */
function requestsByMinute(controlledValues: Controlled, minutes: number): { cpu: number; memory: number }[] {
  const sizes = new SettledSizes();
  const served = {
    namespace: "shop",
    service: "cart",
    replicas: 2,
    confidence: 1,
    valid: true,
    ageSeconds: 1,
    guard: [],
    ...NEED,
  } as unknown as ServedRecommendation;
  const now = { cpu: 0.2, cpuLimit: 2, memory: 256 * MEBI, memoryLimit: 512 * MEBI };
  let status: VpaStatus | undefined;
  return Array.from({ length: minutes }, (_, minute) => {
    const atMs = minute * MINUTE_MS;
    for (const part of [0, 15, 30, 45])
      sizes.record({ recommendations: [served] } as unknown as RecommendationList, atMs + 1e3 * part);
    const vpa = VerticalPodAutoscaler.parse({
      metadata: { name: "cart", namespace: "shop", uid: "vpa-cart", generation: 1 },
      spec: {
        targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "cart" },
        recommenders: [{ name: "tradewind" }],
        resourcePolicy: { containerPolicies: [{ containerName: "*", controlledValues }] },
      },
      ...(status !== undefined && { status }),
    });
    const pod = cartPod(0, {
      requests: { cpu: String(now.cpu), memory: String(now.memory) },
      limits: { cpu: String(now.cpuLimit), memory: String(now.memoryLimit) },
    });
    const settled = sizes.settled(served, requestedSizes(vpa, pod.containers), atMs + 45_000);
    const given = { vpa, workload: "cart", pods: [pod], settled, decided: NEED } as const;
    const advice = advise({ ...given, scalePoints: [], advised: [], act: true });
    status = vpaStatus(vpa, advice, undefined, atMs);
    const { cpuCores: cpu, memoryBytes: memory } = advice.container?.resources ?? {};
    const follows = controlledValues === "RequestsAndLimits";
    if (cpu && (now.cpu < cpu.lowerBound || now.cpu > cpu.upperBound)) {
      if (follows) now.cpuLimit *= cpu.target / now.cpu;
      now.cpu = cpu.target;
    }
    if (memory && (now.memory < memory.lowerBound || now.memory > memory.upperBound)) {
      if (follows) now.memoryLimit *= memory.target / now.memory;
      now.memory = Math.round(memory.target);
    }
    return { cpu: now.cpu, memory: now.memory / MEBI };
  });
}

it.each(["RequestsAndLimits", "RequestsOnly"] as const)(
  "what runs is held as it is requested, not as its limit, before anything may be made smaller: %s (vpa-doubles)",
  (controlledValues) => {
    const requests = requestsByMinute(controlledValues, 75);
    expect(Math.max(...requests.map(({ memory }) => memory))).toBeLessThanOrEqual(300);
    expect(Math.max(...requests.map(({ cpu }) => cpu))).toBeLessThanOrEqual(0.26);
    expect(requests.at(-1)!.memory).toBeCloseTo(300, 0);
  },
);
