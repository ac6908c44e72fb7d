import type { Autoscaler, ScaledObject } from "../objects/autoscaler.ts";
import type { TemplateContainer } from "../objects/scalable.ts";
import { serviceNames } from "../workloads/service-name.ts";
import type { NameSource } from "../workloads/service-name.ts";
import type { Found, FoundService, FoundWorkload } from "./found.ts";

/** A workload that Tradewind can take care of. */
export interface SurveyedWorkload {
  readonly workload: FoundWorkload;
  readonly service: string;
  readonly nameSource: NameSource;
  /** The container that is sized; absent for a template without containers. */
  readonly container: TemplateContainer | undefined;
  /** An HPA that no ScaledObject made. */
  readonly autoscaler: Autoscaler | undefined;
  readonly scaledObject: ScaledObject | undefined;
  readonly vpa: string | undefined;
  /** What lets users in from outside: `Ingress 'shop'`, `Service 'web' (LoadBalancer)`. */
  readonly exposedBy: string | undefined;
}

/** What a person said of single workloads, by name. */
export interface Choice {
  readonly exclude: readonly string[];
  /** Taken although there is a reason to leave them out. */
  readonly include: readonly string[];
  /** By its service's or its workload's name. */
  readonly entry: string | undefined;
}

export interface Survey {
  readonly workloads: readonly SurveyedWorkload[];
  /** Workloads that are better left alone, with the reason. */
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
}

/** Images of software that keeps state or serves the cluster: more of it is not more of the same. */
const NOT_OURS =
  /(^|[/-])(postgres|postgresql|mysql|mariadb|percona|mongo|mongodb|redis|valkey|dragonfly|memcached|cassandra|scylla|couchdb|cockroach|etcd|zookeeper|kafka|redpanda|rabbitmq|nats|pulsar|elasticsearch|opensearch|solr|minio|clickhouse|influxdb|neo4j|consul|vault|prometheus|alertmanager|grafana|loki|tempo|jaeger|zipkin|otelcol|opentelemetry-collector(-contrib|-k8s)?|fluentd|fluent-bit|tradewind-(agent|predictor|exporter))([-_:@]|$)/;

/** Sorts what was found into what Tradewind can take care of and what it should leave alone. */
export function survey(found: Found, { entry, exclude, include }: Choice): Survey {
  const names = serviceNames(found.workloads, () => undefined);
  const workloads: SurveyedWorkload[] = [];
  const leftOut: { name: string; reason: string }[] = [];
  for (const workload of [...found.workloads].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const naming = names.get(workload.uid);
    const isNamed = include.includes(workload.name) || [workload.name, naming?.service].includes(entry);
    const reason = exclude.includes(workload.name)
      ? "you excluded it"
      : isNamed
        ? undefined
        : whyNot(workload, found);
    if (reason !== undefined) {
      leftOut.push({ name: workload.name, reason });
      continue;
    }
    const isTarget = ({
      target,
    }: {
      readonly target?: { kind: string; name: string } | undefined;
    }): boolean => target?.kind === workload.kind && target.name === workload.name;
    workloads.push({
      workload,
      service: naming?.service ?? workload.name,
      nameSource: naming?.source ?? "workload",
      container: workload.containers.find(({ name }) => name === workload.name) ?? workload.containers[0],
      autoscaler: found.autoscalers.find((each) => isTarget(each) && each.scaledObject === undefined),
      scaledObject: found.scaledObjects.find((each) => isTarget(each)),
      vpa: found.vpas.find((each) => isTarget(each))?.name,
      exposedBy: exposure(workload, found),
    });
  }
  return { workloads, leftOut };
}

function whyNot(workload: FoundWorkload, { services }: Found): string | undefined {
  const { images, ownVolumes, replicasWanted } = workload;
  if (ownVolumes) return "each of its pods has a volume of its own: more pods are not more of the same";
  const image = images.find((each) => NOT_OURS.test(each));
  if (image !== undefined) return `'${image}' keeps state or serves the cluster; it is not scaled by latency`;
  if (replicasWanted === 0) return "it has no replicas";
  // Where no Service is known at all, who calls whom is not known either.
  const isCalled = services.length === 0 || servicesOf(workload, services).length > 0;
  return isCalled ? undefined : "no Service leads to it, so nobody calls it: more of it only makes more load";
}

/** The Services that lead to a workload's pods. */
function servicesOf({ podLabels }: FoundWorkload, services: readonly FoundService[]): FoundService[] {
  return services.filter(({ selector }) => {
    const labels = Object.entries(selector);
    return labels.length > 0 && labels.every(([key, value]) => podLabels[key] === value);
  });
}

function exposure(workload: FoundWorkload, { ingresses, services }: Found): string | undefined {
  const own = servicesOf(workload, services);
  for (const { name, services: behind } of ingresses) {
    if (own.some((service) => behind.includes(service.name))) return `Ingress '${name}'`;
  }
  const open = own.find(({ type }) => type === "LoadBalancer" || type === "NodePort");
  return open && `Service '${open.name}' (${open.type})`;
}

const LIKELY_ENTRY = /(?:^|-)(?:front-?end|gateway|edge|web|ui|website|storefront|proxy|ingress)(?:-|$)/;

export type EntryGuess =
  | { readonly entry: SurveyedWorkload; readonly why: string; readonly candidates?: never }
  | { readonly candidates: readonly string[]; readonly entry?: never };

/** The service that users call: named, exposed to the outside, called like one, or the only one. */
export function guessEntry(workloads: readonly SurveyedWorkload[], named: string | undefined): EntryGuess {
  if (named !== undefined) {
    const entry = workloads.find(({ service, workload }) => service === named || workload.name === named);
    return entry === undefined ? { candidates: workloads.map(({ service }) => service) } : { entry, why: "" };
  }
  const exposed = workloads.filter(({ exposedBy }) => exposedBy !== undefined);
  const [outside] = exposed;
  if (outside !== undefined && exposed.length === 1)
    return { entry: outside, why: `behind ${outside.exposedBy ?? ""}` };
  const among = exposed.length > 0 ? exposed : workloads;
  const likely = among.filter(({ workload }) => LIKELY_ENTRY.test(workload.name));
  const [only] = likely.length > 0 ? likely : among;
  if (only !== undefined && (likely.length === 1 || among.length === 1)) {
    return { entry: only, why: among.length === 1 ? "the only one" : "by its name" };
  }
  return { candidates: among.map(({ service }) => service) };
}
