import type { SpanResource } from "../../window/span.ts";

/** Instances of a service, the pod's name first, as workloads and agents call it. */
const POD_KEYS = ["k8s.pod.name", "k8s.pod.uid"];
export const HOST_KEY = "host.name";
const INSTANCE_KEY = "service.instance.id";
export const SERVICE_KEY = "service.name";
/** What a service is called where nobody named it, the best first. */
const WORKLOAD_KEYS = [
  "k8s.deployment.name",
  "k8s.statefulset.name",
  "k8s.daemonset.name",
  "k8s.cronjob.name",
  "k8s.job.name",
  "k8s.container.name",
];
const REPLICA_SET_KEY = "k8s.replicaset.name";
/** What SDKs say where nobody named the service: `unknown_service`, or `unknown_service:node`. */
const UNNAMED = "unknown_service";
export const POD_KEY = "k8s.pod.name";
export const NAMESPACE_KEY = "k8s.namespace.name";
export const CLUSTER_KEY = "k8s.cluster.name";
export const REGION_KEY = "cloud.region";
export const GROUP_KEY = "service.namespace";
export const ENVIRONMENT_KEYS = ["deployment.environment.name", "deployment.environment"] as const;
/** The resource attributes that are read; all others are skipped. */
export const RESOURCE_KEYS: readonly string[] = [
  SERVICE_KEY,
  ...WORKLOAD_KEYS,
  REPLICA_SET_KEY,
  ...POD_KEYS,
  INSTANCE_KEY,
  HOST_KEY,
  NAMESPACE_KEY,
  CLUSTER_KEY,
  REGION_KEY,
  GROUP_KEY,
  ...ENVIRONMENT_KEYS,
];
const KEYS: ReadonlySet<string> = new Set(RESOURCE_KEYS);
/** Longer attribute keys cannot be one of ours. */
export const MAX_KEY_BYTES = 27;
/** Longer values are cut: a service name of that length is refused anyway. */
export const MAX_VALUE_BYTES = 804;

/** Gathers what is read of one resource, whichever order its attributes come in. */
export class ResourceReader {
  private readonly values = new Map<string, string>();

  clear(): void {
    this.values.clear();
  }

  wants(key: string): boolean {
    return KEYS.has(key);
  }

  /** Of an attribute that comes twice the first counts, as OpenTelemetry requires unique keys. */
  take(key: string, value: string): void {
    if (value !== "" && !this.values.has(key)) this.values.set(key, value);
  }

  resource(): SpanResource {
    const { values } = this;
    const pod = this.first(POD_KEYS);
    const instance = pod ?? values.get(INSTANCE_KEY);
    const host = values.get(HOST_KEY);
    const namespace = values.get(NAMESPACE_KEY);
    const cluster = values.get(CLUSTER_KEY);
    const region = values.get(REGION_KEY);
    const group = values.get(GROUP_KEY);
    const resource: SpanResource = { service: this.service() };
    if (instance !== undefined) resource.instance = instance;
    if (pod !== undefined) resource.isPod = true;
    if (host !== undefined) resource.host = host;
    if (namespace !== undefined) resource.namespace = namespace;
    if (cluster !== undefined) resource.cluster = cluster;
    if (region !== undefined) resource.region = region;
    if (group !== undefined) resource.group = group;
    const environment = this.first(ENVIRONMENT_KEYS);
    if (environment !== undefined) resource.environment = environment;
    return resource;
  }

  private service(): string {
    const named = this.values.get(SERVICE_KEY) ?? "";
    if (named !== "" && !named.startsWith(UNNAMED)) return named;
    return this.first(WORKLOAD_KEYS) ?? this.deployment() ?? named;
  }

  /** A Deployment names its ReplicaSets after itself, with a hash behind a dash. */
  private deployment(): string | undefined {
    const set = this.values.get(REPLICA_SET_KEY) ?? "";
    return set.slice(0, Math.max(0, set.lastIndexOf("-"))) || undefined;
  }

  private first(keys: readonly string[]): string | undefined {
    for (const key of keys) {
      const value = this.values.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }
}
