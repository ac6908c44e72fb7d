import { stringify } from "yaml";
import type { HeardTraffic } from "./heard-traffic.ts";

/** Where a Collector is to send. */
export interface CollectorTarget {
  /** `host:port` of OTLP over gRPC. */
  readonly endpoint: string;
  /** Undefined where spans of all namespaces are wanted. */
  readonly namespace: string | undefined;
}

const NAME = "tradewind";
/** Half of what spans are waited for by default has passed in SDKs when they come to a Collector. */
const BATCH_TIMEOUT = "1s";

/**
 * What a Collector needs to send here, to be merged into its configuration (`--config` may be given twice): spans with their pod and
 * namespace, and of metrics only those that are used. Pods are asked for only where spans were heard that do not name theirs.
 */
export function collectorConfig(
  { services }: HeardTraffic,
  { endpoint, namespace }: CollectorTarget,
): string {
  const heard = [...services.values()];
  const lacksPods =
    heard.length === 0 ||
    heard.some(({ instances, namespaces }) => Math.min(instances.size, namespaces.size) === 0);
  const pods = `k8sattributes/${NAME}`;
  const filter = `filter/${NAME}`;
  const batch = `batch/${NAME}`;
  const attribute = 'resource.attributes["k8s.namespace.name"]';
  const foreign =
    namespace === undefined ? [] : [`${attribute} != nil and ${attribute} != ${JSON.stringify(namespace)}`];
  const processors = [...(lacksPods ? [pods] : []), filter, batch];
  const pipeline = { receivers: ["otlp"], processors, exporters: [`otlp/${NAME}`] };
  return stringify({
    processors: {
      ...(lacksPods && {
        [pods]: { extract: { metadata: ["k8s.namespace.name", "k8s.pod.name", "k8s.deployment.name"] } },
      }),
      [filter]: {
        error_mode: "ignore",
        ...(foreign.length > 0 && { traces: { span: foreign } }),
        metrics: {
          metric: [
            ...foreign,
            'not IsMatch(name, "^(http|rpc)\\\\.(server|client)\\\\.((request|call)\\\\.)?duration$|^db\\\\.client\\\\.operation\\\\.duration$")',
          ],
        },
      },
      [batch]: { timeout: BATCH_TIMEOUT },
    },
    exporters: { [`otlp/${NAME}`]: { endpoint, tls: { insecure: true } } },
    service: { pipelines: { [`traces/${NAME}`]: pipeline, [`metrics/${NAME}`]: pipeline } },
  });
}
