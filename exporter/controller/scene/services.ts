import type { Autoscaler } from "@tradewind/kubernetes/objects/autoscaler.ts";
import type { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import type { Scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { namedWorkloads } from "@tradewind/kubernetes/workloads/named-kinds.ts";
import { podsByWorkload } from "@tradewind/kubernetes/workloads/ownership.ts";
import { serviceNames } from "@tradewind/kubernetes/workloads/service-name.ts";
import type { ApplicationObject, NamespaceWatches } from "./namespace-watches.ts";

/** A workload with its pods, under the name it has in traces. */
export interface ServiceWorkload {
  readonly service: string;
  readonly workload: Scalable;
  readonly pods: readonly Pod[];
  /** Resources whose request is the scale point of an HPA; every resource while the HPAs are unknown. */
  readonly scalePoints: readonly ("cpu" | "memory")[];
}

/** The workloads of a namespace by their service's name; the first of several counts, by name. */
export function servicesOf(view: NamespaceWatches): ReadonlyMap<string, ServiceWorkload> {
  const applications = [...(view.applications?.items.values() ?? [])];
  view.workloads.want(
    namedWorkloads(
      applications.map(({ metadata: { namespace }, spec: { services } }) => ({ namespace, services })),
    ),
  );
  const { horizontalPodAutoscalers, pods, replicaSets, scalables } = view.workloads.objects();
  const names = serviceNames(scalables, ({ kind, name }) => configured(applications, kind, name));
  const podsOf = podsByWorkload(pods, replicaSets, scalables);
  const byService = new Map<string, ServiceWorkload>();
  for (const workload of [...scalables].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const service = names.get(workload.uid)?.service ?? workload.name;
    if (byService.has(service)) continue;
    byService.set(service, {
      service,
      workload,
      pods: podsOf.get(workload.uid) ?? [],
      scalePoints: scalePointsOf(workload, horizontalPodAutoscalers),
    });
  }
  return byService;
}

function configured(
  applications: readonly ApplicationObject[],
  kind: string,
  name: string,
): string | undefined {
  for (const { spec } of applications) {
    const found = spec.services.find(({ workload }) => workload?.kind === kind && workload.name === name);
    if (found !== undefined) return found.name;
  }
  return undefined;
}

function scalePointsOf(
  { kind, name }: Scalable,
  autoscalers: readonly Autoscaler[] | undefined,
): ("cpu" | "memory")[] {
  if (autoscalers === undefined) return ["cpu", "memory"];
  const points = autoscalers
    .filter(({ target }) => target.kind === kind && target.name === name)
    .flatMap(({ utilisationOf }) => utilisationOf);
  return [...new Set(points)];
}
