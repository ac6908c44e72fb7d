import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import type { PredictorMetrics } from "./metrics.ts";
import type { PredictorOptions } from "./options.ts";
import { namespacesInFiles } from "@tradewind/kubernetes/application/files.ts";
import { applicationPlace, ApplicationResource } from "@tradewind/kubernetes/application/resource.ts";
import {
  applicationSources,
  maySeveral,
  resourceNamespaces,
} from "@tradewind/kubernetes/application/sources.ts";
import type { ApplicationSource } from "@tradewind/kubernetes/application/sources.ts";
import { openCluster } from "../../sources/kubernetes/connection.ts";
import type { Cluster } from "../../sources/kubernetes/connection.ts";
import { registerTriggerMetrics } from "../../sources/kubernetes/trigger-metrics.ts";
import { KubernetesWorkloads, watchedNamespaces } from "../../sources/kubernetes/workloads.ts";
import type { WorkloadSource } from "../../sources/workload-source.ts";
import { WorkloadsFile } from "../../sources/workloads-file.ts";
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

/** Where applications come from: a file, read once, or a resource, followed; or several of either kind, which come and go. */
export interface Surroundings {
  readonly cluster: Cluster | undefined;
  /** Absent where several may come. */
  readonly only?: OnlyOne;
  /** Where several may be found; absent where there is one. */
  readonly sources?: readonly ApplicationSource[];
  /** Namespaces of applications as far as they are known at the start; an empty list: any. */
  readonly namespaces: readonly string[];
}

export interface OnlyOne {
  /** The application at the start; its name and namespace stay. */
  readonly application: Application;
  /** The application as of now; undefined once it was deleted. */
  readonly current: () => Application | undefined;
  /** What is wrong with its newest configuration. */
  readonly problem: () => string | undefined;
}

/**
 * Finds the application, and the cluster where one is asked for. An Application resource may come later than the predictor:
 * until then only `/healthz` and the reason are served. Several are not waited for.
 */
export async function openSurroundings(parts: SurroundingsParts): Promise<Surroundings> {
  const { clock, ends, metrics, options } = parts;
  const sources = await applicationSources(options.config);
  const needsCluster =
    resourceNamespaces(sources) !== undefined || /^kubernetes(:|$)/.test(options.workloads ?? "");
  const cluster = needsCluster
    ? await openCluster({ kubeconfig: options.kubeconfig, clock, registry: metrics.registry })
    : undefined;
  if (cluster !== undefined) ends.push(async () => cluster.client.close());
  if (maySeveral(sources)) {
    return { cluster, sources, namespaces: await namespacesOf(sources) };
  }
  const only = await findOnly(parts, cluster);
  return { cluster, only, namespaces: [only.application.namespace] };
}

async function findOnly(parts: SurroundingsParts, cluster: Cluster | undefined): Promise<OnlyOne> {
  const { clock, ends, log, options, tls } = parts;
  const [config = ""] = options.config;
  const place = applicationPlace(config);
  if (place === undefined || cluster === undefined) {
    const application = await readApplication(config);
    return { application, current: () => application, problem: () => undefined };
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
  return { application, current: () => resource.current(), problem: () => resource.problem() };
}

/** Where resources are, and where applications of files are that can be read now. */
async function namespacesOf(sources: readonly ApplicationSource[]): Promise<readonly string[]> {
  const ofResources = resourceNamespaces(sources);
  if (ofResources?.length === 0) return [];
  const ofFiles = await namespacesInFiles(sources);
  return [...new Set([...(ofResources ?? []), ...ofFiles])];
}

/** Follows the workloads where the options say they are found. */
export async function followWorkloads(
  parts: SurroundingsParts,
  { cluster, namespaces: own }: Pick<Surroundings, "cluster" | "namespaces">,
  applications: () => readonly Application[],
): Promise<WorkloadSource | undefined> {
  const { clock, ends, log, metrics, options } = parts;
  if (options.workloads === undefined) return undefined;
  const keepSeconds = WORKLOADS_WINDOWS * options.windowSeconds;
  const namespaces = watchedNamespaces(options.workloads, own);
  if (namespaces !== undefined && cluster !== undefined) {
    const { client, metrics: observer } = cluster;
    const source = new KubernetesWorkloads({
      client,
      namespaces,
      applications,
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
