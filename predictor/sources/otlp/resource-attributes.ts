import type { SpanResource } from "../../window/span.ts";

/** The resource attributes that are read, the pod's name first, as workloads and agents call it. All others are skipped. */
const INSTANCE_KEYS = ["k8s.pod.name", "k8s.pod.uid", "service.instance.id"];
const SERVICE_KEY = "service.name";
export const NAMESPACE_KEY = "k8s.namespace.name";
/** Longer attribute keys cannot be one of ours. */
export const MAX_KEY_BYTES = 24;
/** Longer values are cut: a service name of that length is refused anyway. */
export const MAX_VALUE_BYTES = 804;

/** Gathers what is read of one resource, whichever order its attributes come in. */
export class ResourceReader {
  private service = "";
  private instance: string | undefined;
  private namespace: string | undefined;
  private instanceRank = INSTANCE_KEYS.length;

  clear(): void {
    this.service = "";
    this.instance = undefined;
    this.namespace = undefined;
    this.instanceRank = INSTANCE_KEYS.length;
  }

  wants(key: string): boolean {
    return key === SERVICE_KEY || key === NAMESPACE_KEY || INSTANCE_KEYS.includes(key);
  }

  /** Of an attribute that comes twice the first counts, as OpenTelemetry requires unique keys. */
  take(key: string, value: string): void {
    if (key === SERVICE_KEY) {
      if (this.service === "") this.service = value;
      return;
    }
    if (key === NAMESPACE_KEY) {
      if (value !== "") this.namespace ??= value;
      return;
    }
    const rank = INSTANCE_KEYS.indexOf(key);
    if (rank === -1 || rank >= this.instanceRank || value === "") return;
    this.instance = value;
    this.instanceRank = rank;
  }

  resource(): SpanResource {
    const { instance, namespace, service } = this;
    return {
      service,
      ...(instance !== undefined && { instance }),
      ...(namespace !== undefined && { namespace }),
    };
  }
}
