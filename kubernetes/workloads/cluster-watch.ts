import type { z } from "zod";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { NodeGroup } from "@tradewind/core/contract/placing.ts";
import type { ContainerLimits, WorkloadList } from "@tradewind/core/contract/workload.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ApiClient } from "../client/client.ts";
import { RESOURCES } from "../client/resources.ts";
import type { Resource } from "../client/resources.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "../objects/autoscaler.ts";
import { LimitRange, Node, ResourceQuota } from "../objects/capacity.ts";
import { PodDisruptionBudget } from "../objects/disruption-budget.ts";
import { Owned } from "../objects/metadata.ts";
import { AUTOSCALER_STATUS, AutoscalerStatus, NodePool } from "../objects/node-group.ts";
import { BoundPod, Pod } from "../objects/pod.ts";
import type { PlacedPod } from "../objects/pod.ts";
import { scalable, withTemplates } from "../objects/scalable.ts";
import type { Scalable } from "../objects/scalable.ts";
import { Reflector } from "../watch/reflector.ts";
import type {
  ReflectorOptions,
  ReflectorState,
  ReflectorTimings,
  WatchObserver,
} from "../watch/reflector.ts";
import { NamedKinds } from "./named-kinds.ts";
import type { NamedWorkload } from "./named-kinds.ts";
import { recommendationTriggers } from "./recommendation-triggers.ts";
import type { RecommendationTrigger } from "./recommendation-triggers.ts";
import { scalingsOf, workloadList } from "./workload-list.ts";
import type { ClusterObjects } from "./workload-list.ts";
import type { ConfiguredName } from "./service-name.ts";

export interface ClusterWatchOptions {
  readonly client: ApiClient;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Also ScaledObjects: bounds with zero, and whom KEDA asks. */
  readonly scaledObjects: boolean;
  /** Also what bounds the workloads from outside: quotas, disruption budgets, nodes. */
  readonly capacity: boolean;
  readonly log: Logger;
  readonly clock: Clock;
  readonly observer?: WatchObserver | undefined;
  readonly onChange?: (() => void) | undefined;
  readonly timings?: Partial<ReflectorTimings> | undefined;
}

/** Pods that a node has taken and that have not ended. */
const BOUND = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";

/** How the watch of one kind is doing. */
export interface WatchHealth extends ReflectorState {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly items: number;
  readonly ageMs: number;
}

/** The same kind in several namespaces, as one collection. */
class Collection<Item> {
  readonly reflectors: readonly Reflector<Item>[];

  constructor(reflectors: readonly Reflector<Item>[]) {
    this.reflectors = reflectors;
  }

  all(): Item[] {
    return this.reflectors.flatMap(({ items }) => [...items.values()]);
  }

  isFresh(maxAgeMs: number): boolean {
    return this.reflectors.every((each) => each.state.synced && each.ageMs() <= maxAgeMs);
  }
}

/** Follows everything in a cluster that makes up workloads. */
export class ClusterWatch {
  private readonly options: ClusterWatchOptions;
  private changes = 0;
  private readonly deployments: Collection<Scalable>;
  private readonly statefulSets: Collection<Scalable>;
  private readonly rollouts: Collection<Scalable>;
  private readonly replicaSets: Collection<Owned>;
  private readonly pods: Collection<Pod>;
  private readonly horizontalPodAutoscalers: Collection<HorizontalPodAutoscaler>;
  private readonly scaledObjects: Collection<ScaledObject>;
  private readonly quotas: Collection<ResourceQuota>;
  private readonly limitRanges: Collection<ContainerLimits>;
  private readonly budgets: Collection<PodDisruptionBudget>;
  private readonly nodes: Collection<Node>;
  /** Of all namespaces, where not all are watched. */
  private readonly boundPods: Collection<PlacedPod>;
  private readonly nodePools: Collection<NodeGroup>;
  private readonly autoscalerStatus: Collection<readonly NodeGroup[]>;
  private readonly namedKinds: NamedKinds;
  private named: readonly NamedWorkload[] = [];

  constructor(options: ClusterWatchOptions) {
    this.options = options;
    this.deployments = this.follow(RESOURCES.deployments, scalable("Deployment"));
    this.statefulSets = this.follow(RESOURCES.statefulSets, scalable("StatefulSet"));
    this.rollouts = this.follow(RESOURCES.rollouts, scalable("Rollout"));
    this.replicaSets = this.follow(RESOURCES.replicaSets, Owned, { metadataOnly: true });
    this.pods = this.follow(RESOURCES.pods, Pod);
    this.horizontalPodAutoscalers = this.follow(RESOURCES.horizontalPodAutoscalers, HorizontalPodAutoscaler);
    const none = new Collection<never>([]);
    this.scaledObjects = options.scaledObjects ? this.follow(RESOURCES.scaledObjects, ScaledObject) : none;
    this.quotas = options.capacity ? this.follow(RESOURCES.resourceQuotas, ResourceQuota) : none;
    this.limitRanges = options.capacity ? this.follow(RESOURCES.limitRanges, LimitRange) : none;
    this.budgets = options.capacity ? this.follow(RESOURCES.podDisruptionBudgets, PodDisruptionBudget) : none;
    this.nodes = options.capacity ? this.follow(RESOURCES.nodes, Node) : none;
    this.boundPods =
      options.capacity && options.namespaces.length > 0
        ? this.follow(RESOURCES.pods, BoundPod, { fieldSelector: BOUND, namespaces: [] })
        : none;
    this.nodePools = options.capacity ? this.follow(RESOURCES.nodePools, NodePool) : none;
    this.autoscalerStatus = options.capacity
      ? this.follow(RESOURCES.configMaps, AutoscalerStatus, {
          fieldSelector: `metadata.name=${AUTOSCALER_STATUS.name}`,
          namespaces: [AUTOSCALER_STATUS.namespace],
        })
      : none;
    const { client, clock, log } = options;
    this.namedKinds = new NamedKinds({
      client,
      clock,
      log,
      follow: (resource, schema) => this.follow(resource, schema).reflectors,
      onChange: () => this.changed(),
    });
  }

  /** Follows these workloads of other kinds, which applications name now. */
  want(named: readonly NamedWorkload[]): void {
    this.named = named;
    this.namedKinds.want(named);
  }

  /** What the cluster does not have of what an application names, in words. */
  problem(named: readonly NamedWorkload[]): string | undefined {
    return this.namedKinds.problem(named);
  }

  /** Rises with every change of anything: equal revisions, equal objects. */
  get revision(): number {
    return this.changes;
  }

  start(): void {
    for (const reflector of this.reflectors()) reflector.start();
  }

  async stop(): Promise<void> {
    this.namedKinds.stop();
    await Promise.all(this.reflectors().map(async (reflector) => reflector.stop()));
  }

  /** True when workloads and pods were known to be true within `maxAgeMs`; without them nothing can be said. */
  isFresh(maxAgeMs: number): boolean {
    return [this.deployments, this.statefulSets, this.replicaSets, this.pods].every((each) =>
      each.isFresh(maxAgeMs),
    );
  }

  /** True when HorizontalPodAutoscalers were known to be true within `maxAgeMs`. */
  knowsAutoscalers(maxAgeMs: number): boolean {
    const { horizontalPodAutoscalers } = this;
    return horizontalPodAutoscalers.reflectors.length > 0 && horizontalPodAutoscalers.isFresh(maxAgeMs);
  }

  /** Everything known, fresh or not. */
  objects(): ClusterObjects {
    const known = <Item>(collection: Collection<Item>): Item[] | undefined =>
      collection.reflectors.length > 0 && collection.isFresh(Number.POSITIVE_INFINITY)
        ? collection.all()
        : undefined;
    const { capacity, namespaces } = this.options;
    const isEverywhere = capacity && namespaces.length === 0;
    return {
      scalables: withTemplates([
        ...this.deployments.all(),
        ...this.statefulSets.all(),
        ...this.rollouts.all(),
        ...this.namedKinds.all(this.named),
      ]),
      replicaSets: this.replicaSets.all(),
      pods: this.pods.all(),
      horizontalPodAutoscalers: known(this.horizontalPodAutoscalers),
      scaledObjects: this.scaledObjects.all(),
      quotas: known(this.quotas),
      budgets: known(this.budgets),
      limitRanges: this.limitRanges.all(),
      nodes: known(this.nodes),
      boundPods: isEverywhere ? this.pods.all() : known(this.boundPods),
      nodeGroups: [...this.nodePools.all(), ...this.autoscalerStatus.all().flat()],
    };
  }

  /** The triggers of ScaledObjects that ask Tradewind; none while HPAs or ScaledObjects cannot be read. */
  triggers(): RecommendationTrigger[] {
    const { horizontalPodAutoscalers = [], scaledObjects } = this.objects();
    return recommendationTriggers(scaledObjects, horizontalPodAutoscalers);
  }

  /** The workloads; undefined while they were not known to be true within `maxAgeMs`. */
  workloads(configured: ConfiguredName, maxAgeMs: number): WorkloadList | undefined {
    if (!this.isFresh(maxAgeMs)) return undefined;
    return workloadList(this.objects(), configured, this.options.clock.nowMs());
  }

  /** How the workloads are scaled; undefined as {@link workloads} is. */
  scalings(configured: ConfiguredName, maxAgeMs: number): ReturnType<typeof scalingsOf> | undefined {
    return this.isFresh(maxAgeMs) ? scalingsOf(this.objects(), configured) : undefined;
  }

  health(): WatchHealth[] {
    return this.reflectors().map((reflector) => healthOf(reflector));
  }

  private reflectors(): Reflector<unknown>[] {
    return [
      this.deployments,
      this.statefulSets,
      this.rollouts,
      this.replicaSets,
      this.pods,
      this.horizontalPodAutoscalers,
      this.scaledObjects,
      this.quotas,
      this.limitRanges,
      this.budgets,
      this.nodes,
      this.boundPods,
      this.nodePools,
      this.autoscalerStatus,
      { reflectors: this.namedKinds.reflectors() },
    ].flatMap(({ reflectors }) => reflectors as readonly Reflector<unknown>[]);
  }

  private changed(): void {
    this.changes += 1;
    this.options.onChange?.();
  }

  private follow<Item>(
    resource: Resource,
    schema: z.ZodType<Item>,
    {
      fieldSelector,
      metadataOnly = false,
      namespaces = this.options.namespaces,
    }: Partial<Pick<ClusterWatchOptions, "namespaces">> &
      Pick<ReflectorOptions<Item>, "fieldSelector" | "metadataOnly"> = {},
  ): Collection<Item> {
    const { client, clock, log, observer, timings } = this.options;
    const places = resource.namespaced && namespaces.length > 0 ? namespaces : [undefined];
    return new Collection(
      places.map(
        (namespace) =>
          new Reflector({
            client,
            resource,
            namespace,
            schema,
            fieldSelector,
            metadataOnly,
            log,
            clock,
            observer,
            onChange: () => this.changed(),
            timings,
          }),
      ),
    );
  }
}

function healthOf(reflector: Reflector<unknown>): WatchHealth {
  const { items, place, state } = reflector;
  return {
    ...state,
    resource: place.resource.plural,
    namespace: place.namespace,
    items: items.size,
    ageMs: reflector.ageMs(),
  };
}
