import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import type { WatchObserver } from "@tradewind/kubernetes/watch/reflector.ts";
import { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import type { WatchHealth } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { allConfiguredNames } from "@tradewind/kubernetes/workloads/configured-names.ts";
import { namedWorkloads } from "@tradewind/kubernetes/workloads/named-kinds.ts";
import type { RecommendationTrigger } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import type { Scaling, WorkloadSource } from "../workload-source.ts";

const KUBERNETES = /^kubernetes(?::(?<namespaces>.+))?$/;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const ALL = "*";

/**
 * Reads `kubernetes`, `kubernetes:shop,checkout` or `kubernetes:*` as the namespaces to watch: the applications' own, these,
 * or all (an empty list). Undefined when it is none of them, but a file.
 * @throws RangeError naming a namespace that cannot exist
 */
export function watchedNamespaces(workloads: string, own: readonly string[]): string[] | undefined {
  const match = KUBERNETES.exec(workloads);
  if (match === null) return undefined;
  const named = match.groups?.["namespaces"]?.split(",").map((each) => each.trim());
  if (named === undefined) return [...new Set(own)];
  if (named.includes(ALL)) return [];
  const wrong = named.find((each) => !NAMESPACE.test(each));
  if (wrong !== undefined) throw new RangeError(`'${wrong.slice(0, 80)}' is not a namespace`);
  return [...new Set(named)];
}

export interface KubernetesWorkloadsOptions {
  readonly client: ApiClient;
  readonly namespaces: readonly string[];
  /** The applications as of now: they may name the service of a workload. */
  readonly applications: () => readonly Pick<Application, "namespace" | "services">[];
  /** A list that was not known to be true within this time is no longer served. */
  readonly keepSeconds: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: WatchObserver;
}

/** Follows the workloads of a cluster. While the API server is away the last list is served for a bounded time, then none. */
export class KubernetesWorkloads implements WorkloadSource {
  private readonly options: KubernetesWorkloadsOptions;
  private readonly watch: ClusterWatch;

  constructor(options: KubernetesWorkloadsOptions) {
    this.options = options;
    const { client, clock, log, namespaces, observer } = options;
    this.watch = new ClusterWatch({
      client,
      clock,
      log,
      namespaces,
      observer,
      scaledObjects: true,
      capacity: true,
    });
  }

  start(): void {
    this.watch.start();
  }

  async stop(): Promise<void> {
    await this.watch.stop();
  }

  current(): WorkloadList | undefined {
    const { applications, keepSeconds } = this.options;
    this.watch.want(namedWorkloads(applications()));
    return this.watch.workloads(allConfiguredNames(applications()), keepSeconds * 1e3);
  }

  scalings(): readonly Scaling[] | undefined {
    const { applications, keepSeconds } = this.options;
    this.watch.want(namedWorkloads(applications()));
    return this.watch.scalings(allConfiguredNames(applications()), keepSeconds * 1e3);
  }

  lacks(application: Pick<Application, "namespace" | "services">): string | undefined {
    return this.watch.problem(namedWorkloads([application]));
  }

  /** The triggers that ask Tradewind, as last seen. */
  triggers(): RecommendationTrigger[] {
    return this.watch.triggers();
  }

  health(): WatchHealth[] {
    return this.watch.health();
  }
}
