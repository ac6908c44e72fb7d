import type { Behavior } from "@tradewind/core/hpa/behavior.ts";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import { StockRecommender } from "../control/vpa/recommender.ts";
import { combinations, numberOf, scaledObject } from "./contender.ts";
import type { Brain, Contender, Parameters, Setting } from "./contender.ts";

/** Policies and tolerance as Kubernetes has them by default, with another window. */
export function stockBehavior(scaleDownSeconds: number): Behavior {
  const { scaleDown, scaleUp } = KUBERNETES_DEFAULT_BEHAVIOR;
  return { scaleUp, scaleDown: { ...scaleDown, stabilizationWindowSeconds: scaleDownSeconds } };
}

function cpuBrain(setting: Setting, parameters: Parameters): Brain {
  const behavior = stockBehavior(numberOf(parameters, "scaleDownSeconds"));
  const targetPercent = numberOf(parameters, "targetPercent");
  return {
    scaledObject: (service) => scaledObject(setting, service, [{ kind: "cpu", targetPercent }], behavior),
  };
}

/** A HorizontalPodAutoscaler on CPU utilisation. */
export const HPA_CPU: Contender = {
  name: "hpa-cpu",
  about: "HorizontalPodAutoscaler on CPU utilisation, Kubernetes' policies and tolerance.",
  defaults: { targetPercent: 60, scaleDownSeconds: 300 },
  grid: combinations({ targetPercent: [40, 50, 60, 80], scaleDownSeconds: [300, 120] }),
  start: cpuBrain,
};

/** The same, with the stock VPA on memory: both on CPU would fight. */
export const HPA_VPA: Contender = {
  name: "hpa-vpa",
  about: "HorizontalPodAutoscaler on CPU utilisation and the stock VerticalPodAutoscaler on memory.",
  defaults: { targetPercent: 60, scaleDownSeconds: 300, update: "in-place" },
  grid: combinations({
    targetPercent: [40, 50, 60, 80],
    scaleDownSeconds: [300],
    update: ["in-place", "recreate"],
  }),
  supports: (actuators) => actuators === "replicas+cpu+memory",
  start: (setting, parameters) => {
    const recommenders = new Map(setting.world.services.map((name) => [name, new StockRecommender()]));
    return {
      ...cpuBrain(setting, parameters),
      updateMode: parameters["update"] === "recreate" ? "recreate" : "in-place",
      advice: (service, nowMs) => {
        const pods = setting.world.pods(service);
        const recommender = recommenders.get(service);
        recommender?.observe(pods, nowMs);
        const advice = recommender?.advise(1 + (pods[0]?.sidecars.length ?? 0));
        return advice && { memoryBytes: advice.memoryBytes };
      },
    };
  },
};
