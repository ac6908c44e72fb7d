import type { Clock } from "@tradewind/core/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { ReloadingTls } from "@tradewind/core/reloading-tls.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import type { PredictorMetrics } from "./metrics.ts";
import type { PredictorOptions } from "./options.ts";
import { applicationPlace, ApplicationResource } from "@tradewind/kubernetes/application/resource.ts";
import { openCluster } from "./sources/kubernetes/connection.ts";
import type { Cluster } from "./sources/kubernetes/connection.ts";
import { registerTriggerMetrics } from "./sources/kubernetes/trigger-metrics.ts";
import { KubernetesWorkloads, watchedNamespaces } from "./sources/kubernetes/workloads.ts";
import type { WorkloadSource } from "./sources/workload-source.ts";
import { WorkloadsFile } from "./sources/workloads-file.ts";
import { whileWaiting } from "./waiting.ts";

/** A workload source that could not be read for so many windows no longer tells what runs. */
const WORKLOADS_WINDOWS = 4;

export interface SurroundingsParts {
  readonly options: PredictorOptions;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: PredictorMetrics;
  /** Of the port `listen`. */
  readonly tls: ReloadingTls | undefined;
  /** Called in reverse order to stop what has been started. */
  readonly ends: (() => Promise<void> | void)[];
}

/** Where the application comes from: a file, read once, or a resource of a cluster, followed. */
export interface Surroundings {
  /** The application at the start; its name and namespace stay. */
  readonly application: Application;
  /** The application as of now; undefined once it was deleted. */
  readonly current: () => Application | undefined;
  readonly cluster: Cluster | undefined;
}

/**
 * Finds the application, and the cluster where one is asked for. An Application resource may come later than the predictor:
 * until then only `/healthz` and the reason are served.
 */
export async function openSurroundings(parts: SurroundingsParts): Promise<Surroundings> {
  const { clock, ends, log, metrics, options, tls } = parts;
  const place = applicationPlace(options.config);
  const needsCluster = place !== undefined || /^kubernetes(:|$)/.test(options.workloads ?? "");
  const cluster = needsCluster
    ? await openCluster({ kubeconfig: options.kubeconfig, clock, registry: metrics.registry })
    : undefined;
  if (cluster !== undefined) ends.push(async () => cluster.client.close());
  if (place === undefined || cluster === undefined) {
    const application = await readApplication(options.config);
    return { application, current: () => application, cluster };
  }
  const resource = new ApplicationResource({
    ...place,
    client: cluster.client,
    observer: cluster.metrics,
    clock,
    log,
  });
  ends.push(async () => resource.stop());
  resource.start();
  const { listen } = options;
  const application = await whileWaiting({ listen, tls }, () => resource.whyNot(), resource.first());
  return { application, current: () => resource.current(), cluster };
}

/** Follows the workloads where the options say they are found. */
export async function followWorkloads(
  parts: SurroundingsParts,
  { application, cluster, current }: Surroundings,
): Promise<WorkloadSource | undefined> {
  const { clock, ends, log, metrics, options } = parts;
  if (options.workloads === undefined) return undefined;
  const keepSeconds = WORKLOADS_WINDOWS * options.windowSeconds;
  const namespaces = watchedNamespaces(options.workloads, application.namespace);
  if (namespaces !== undefined && cluster !== undefined) {
    const { client, metrics: observer } = cluster;
    const source = new KubernetesWorkloads({
      client,
      namespaces,
      application: current,
      keepSeconds,
      clock,
      log,
      observer,
    });
    observer.follow(() => source.health());
    registerTriggerMetrics(metrics.registry, () => source.triggers());
    ends.push(async () => source.stop());
    source.start();
    return source;
  }
  const file = new WorkloadsFile({
    path: options.workloads,
    pollMs: options.workloadsPollMs,
    keepSeconds,
    clock,
    log,
    onRead: (result) => metrics.workloadsRead(result),
  });
  ends.push(() => file.stop());
  await file.start();
  return file;
}
