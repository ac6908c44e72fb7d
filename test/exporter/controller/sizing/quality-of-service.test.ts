import { describe, expect, it } from "vitest";
import { mainContainer } from "@tradewind/kubernetes/workloads/main-container.ts";
import { keepingClass } from "@tradewind/exporter/controller/sizing/quality-of-service.ts";
import { cartPod } from "./pods.ts";

const WISHED = { cpuCores: 2, memoryBytes: 1e9 };

describe("a size that keeps the pod's QoS class", () => {
  it.each([
    ["Burstable without limits", {}, true, WISHED],
    ["Burstable under a CPU limit", { limits: { cpu: "1" } }, false, { cpuCores: 0.99, memoryBytes: 1e9 }],
    ["Burstable whose limits follow", { limits: { cpu: "1" } }, true, WISHED],
    ["Guaranteed whose limits follow", { qosClass: "Guaranteed", limits: { cpu: "1" } }, true, WISHED],
    ["Guaranteed with fixed limits", { qosClass: "Guaranteed", limits: { cpu: "1" } }, false, undefined],
    ["BestEffort", { qosClass: "BestEffort" }, true, undefined],
  ] as const)("%s", (_what, facts, limitsFollow, size) => {
    const pod = cartPod(0, facts);
    const kept = keepingClass(pod, mainContainer(pod, "cart")!, WISHED, limitsFollow);
    expect(kept.size).toEqual(size);
    expect(kept.reason ?? "").toMatch(size === undefined ? /pods/ : /^$/);
  });
});

describe("the main container", () => {
  it("is kubectl's default one, else the workload's namesake, else the first, and never a sidecar", () => {
    const pod = cartPod(0, { sidecar: "proxy" });
    expect(mainContainer(pod, "cart")?.name).toBe("main");
    const container = (name: string, isSidecar = false) => ({ ...pod.containers[0]!, name, isSidecar });
    const several = {
      ...pod,
      containers: [container("proxy", true), container("log"), container("cart"), container("x")],
    };
    expect(mainContainer(several, "cart")?.name).toBe("cart");
    expect(mainContainer(several, "other")?.name).toBe("log");
    expect(mainContainer({ ...several, defaultContainer: "x" }, "cart")?.name).toBe("x");
    expect(mainContainer({ ...several, defaultContainer: "proxy" }, "other")?.name).toBe("log");
  });
});
