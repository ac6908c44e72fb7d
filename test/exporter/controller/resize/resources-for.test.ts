import { resourcesFor } from "@tradewind/exporter/controller/resize/resources-for.ts";
import { mainContainer } from "@tradewind/kubernetes/workloads/main-container.ts";
import { formatCores, formatMemory } from "@tradewind/core/values/amounts.ts";
import { parseQuantity } from "@tradewind/kubernetes/objects/quantity.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cartPod, MEBI } from "../sizing/pods.ts";

const milli = fc.integer({ min: 2, max: 8_000 });
const mebi = fc.integer({ min: 2, max: 8_192 });

/** Request and limit as Kubernetes reads what is written. */
const written = (cores: number | undefined, bytes: number | undefined) => ({
  cpu: cores === undefined ? undefined : parseQuantity(formatCores(cores)),
  memory: bytes === undefined ? undefined : parseQuantity(formatMemory(bytes)),
});

describe("requests and limits for a size", () => {
  it("keep a Burstable pod Burstable, whatever its size was and is to be", () => {
    fc.assert(
      fc.property(milli, milli, mebi, mebi, milli, mebi, (a, b, c, d, cores, memory) => {
        fc.pre(a !== b || c !== d);
        const pod = cartPod(0, {
          requests: { cpu: `${Math.min(a, b)}m`, memory: `${Math.min(c, d)}Mi` },
          limits: { cpu: `${Math.max(a, b)}m`, memory: `${Math.max(c, d)}Mi` },
        });
        const container = mainContainer(pod, "cart")!;
        const made = resourcesFor(pod, container, { cpuCores: cores / 1e3, memoryBytes: memory * MEBI });
        if ("reason" in made) throw new Error(made.reason);
        const requests = { ...container.requests, ...made.requests };
        const limits = { ...container.limits, ...made.limits };
        const [asked, limit] = [
          written(requests.cpuCores, requests.memoryBytes),
          written(limits.cpuCores, limits.memoryBytes),
        ];
        expect(asked.cpu).toBeLessThanOrEqual(limit.cpu!);
        expect(asked.memory).toBeLessThanOrEqual(limit.memory!);
        expect(asked.cpu === limit.cpu && asked.memory === limit.memory).toBe(false);
        expect(limit.memory).toBeGreaterThanOrEqual(container.limits.memoryBytes!);
      }),
    );
  });

  it("are none for a BestEffort pod, which may not be given a request", () => {
    const pod = cartPod(0, { qosClass: "BestEffort" });
    expect(resourcesFor(pod, mainContainer(pod, "cart")!, { cpuCores: 1 })).toHaveProperty("reason");
  });
});
