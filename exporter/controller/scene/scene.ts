import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { RecommendationTrigger } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import type { WatchedNamespaces } from "./namespaces.ts";
import type { Scene } from "./part.ts";
import type { ServiceWorkload } from "./services.ts";

/** What is known of workloads and VPAs may be this old; beyond it nothing is done to them. */
export const FRESH_MS = 60_000;

/** Puts together what the parts look at. */
export function makeScene(
  list: RecommendationList,
  applications: Scene["applications"],
  namespaces: WatchedNamespaces,
  clock: Clock,
): Scene {
  const freshServices = (namespace: string): ReadonlyMap<string, ServiceWorkload> => {
    const view = namespaces.get(namespace);
    return view?.workloads.isFresh(FRESH_MS) === true ? view.services() : new Map();
  };
  const servedByWorkload = new Map<string, ServedRecommendation>();
  /** Done when a part first asks: most look at services alone. */
  const indexWorkloads = (): void => {
    if (servedByWorkload.size > 0) return;
    for (const recommendation of list.recommendations) {
      const { namespace, service } = recommendation;
      const workload = freshServices(namespace).get(service)?.workload;
      if (workload === undefined) continue;
      servedByWorkload.set(workloadKey(namespace, workload.kind, workload.name), recommendation);
    }
  };
  const triggersByNamespace = new Map<string, ReadonlyMap<string, readonly RecommendationTrigger[]>>();
  const triggersOf = (namespace: string, service: string): readonly RecommendationTrigger[] => {
    const byService =
      triggersByNamespace.get(namespace) ??
      Map.groupBy(namespaces.get(namespace)?.workloads.triggers() ?? [], (trigger) => trigger.service);
    triggersByNamespace.set(namespace, byService);
    return byService.get(service) ?? [];
  };
  return {
    list,
    applications,
    nowMs: clock.nowMs(),
    monotonicMs: clock.monotonicMs(),
    view: (namespace) => namespaces.get(namespace),
    service: (namespace, service) => {
      const workload = freshServices(namespace).get(service);
      const knowsAutoscalers = namespaces.get(namespace)?.workloads.knowsAutoscalers(FRESH_MS) === true;
      // An HPA that cannot be read may scale on CPU or memory.
      return workload === undefined || knowsAutoscalers
        ? workload
        : { ...workload, scalePoints: ["cpu", "memory"] };
    },
    isPaused: (namespace, service) =>
      triggersOf(namespace, service).some(({ multiplies, pause }) => multiplies || pause?.of === "scaling"),
    isContested: (namespace, service) =>
      triggersOf(namespace, service).some(({ rivals }) => rivals.length > 0),
    served: (namespace, kind, name) => {
      indexWorkloads();
      return servedByWorkload.get(workloadKey(namespace, kind, name));
    },
  };
}

const workloadKey = (...parts: readonly [namespace: string, kind: string, name: string]): string =>
  parts.join("\n");
