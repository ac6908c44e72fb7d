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
  const served = new Map<string, ServedRecommendation>();
  const known = (namespace: string): ReadonlyMap<string, ServiceWorkload> => {
    const view = namespaces.get(namespace);
    return view?.workloads.isFresh(FRESH_MS) === true ? view.services() : new Map();
  };
  const key = (...parts: readonly string[]): string => parts.join("\n");
  const index = (): void => {
    if (served.size > 0) return;
    for (const each of list.recommendations) {
      const workload = known(each.namespace).get(each.service)?.workload;
      if (workload !== undefined) served.set(key(each.namespace, workload.kind, workload.name), each);
    }
  };
  const triggers = new Map<string, ReadonlyMap<string, readonly RecommendationTrigger[]>>();
  const triggersOf = (namespace: string, service: string): readonly RecommendationTrigger[] => {
    const byService =
      triggers.get(namespace) ??
      Map.groupBy(namespaces.get(namespace)?.workloads.triggers() ?? [], (trigger) => trigger.service);
    triggers.set(namespace, byService);
    return byService.get(service) ?? [];
  };
  return {
    list,
    applications,
    nowMs: clock.nowMs(),
    monotonicMs: clock.monotonicMs(),
    view: (namespace) => namespaces.get(namespace),
    service: (namespace, service) => {
      const found = known(namespace).get(service);
      const isKnown = namespaces.get(namespace)?.workloads.knowsAutoscalers(FRESH_MS) === true;
      return found === undefined || isKnown ? found : { ...found, scalePoints: ["cpu", "memory"] };
    },
    isPaused: (namespace, service) =>
      triggersOf(namespace, service).some(({ multiplies, pause }) => multiplies || pause?.of === "scaling"),
    isContested: (namespace, service) =>
      triggersOf(namespace, service).some(({ rivals }) => rivals.length > 0),
    served: (namespace, kind, name) => {
      index();
      return served.get(key(namespace, kind, name));
    },
  };
}
