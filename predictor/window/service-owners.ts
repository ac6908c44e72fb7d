import { meshlessName } from "./mesh-name.ts";
import { DERIVED_KIND, SPAN_KIND } from "./span.ts";
import type { SpanResource } from "./span.ts";

/** Processes and names that are remembered. */
const MOST_REMEMBERED = 20_000;
/** Clusters that are told apart, and pods of each. */
const MOST_CLUSTERS = 16;
const MOST_PODS = 1_000;
/** Time until services that are not known are asked for again. */
const RETRY_MS = 1_000;

/** In the place of a service. */
const SHARED = "";

export interface OwnersOptions {
  readonly namespace: string;
  /** Services that have a workload, or that the application names. */
  readonly known: () => Iterable<string>;
  /** Names and uids of pods with the services of their workloads. */
  readonly pods: () => Iterable<readonly [string, string]>;
  /** `k8s.cluster.name` of the application; undefined where nobody said it. */
  readonly cluster: string | undefined;
  /** Time between two looks at what is known. */
  readonly refreshMs: number;
}

/** Whose time a resource's spans are. */
export const OWNERSHIP = {
  /** Of the service that it names. */
  own: 0,
  /** Of the service whose process made them, under a name of their own. */
  library: 1,
  /** Of another namespace or cluster. */
  foreign: 2,
} as const;

/**
 * Finds the service that spans count for: the one they name, with or without its namespace; else that of the workload in whose pod,
 * or in whose process, they were made.
 */
export class ServiceOwners {
  private readonly options: OwnersOptions;
  private known: ReadonlySet<string> = new Set();
  private pods: ReadonlyMap<string, string> = new Map();
  /** Services by the instances that named them; `SHARED` where several did. */
  private readonly processes = new Map<string, string>();
  /** Pods of the application's workloads by the cluster that their spans name. */
  private readonly clusters = new Map<string, Set<string>>();
  private readMs = -Infinity;

  constructor(options: OwnersOptions) {
    this.options = options;
  }

  refresh(nowMs: number): void {
    const { known, pods, refreshMs } = this.options;
    if (Math.abs(nowMs - this.readMs) < (this.pods.size > 0 ? refreshMs : RETRY_MS)) return;
    this.readMs = nowMs;
    this.known = new Set(known());
    this.pods = new Map(pods());
  }

  /** Whether the service has a workload, or the application names it. */
  isKnown(service: string): boolean {
    return this.known.has(service);
  }

  /** Notes in a resource whose its spans are. @returns one of `OWNERSHIP` */
  resolve(resource: SpanResource): number {
    const { namespace, service } = resource;
    if (namespace !== undefined && namespace !== this.options.namespace) return OWNERSHIP.foreign;
    if (resource.cluster !== undefined && this.isOtherCluster(resource, resource.cluster))
      return OWNERSHIP.foreign;
    if (this.known.size === 0) return OWNERSHIP.own;
    const owner = this.known.has(service) ? service : this.withoutNamespace(service);
    if (owner !== undefined) {
      if (owner !== service) resource.owner = owner;
      this.noteProcess(resource, owner);
      return OWNERSHIP.own;
    }
    const maker = this.makerOf(resource);
    if (maker === undefined) return OWNERSHIP.own;
    resource.owner = maker;
    return OWNERSHIP.library;
  }

  /** What cannot be told apart for lack of a setting, in words. */
  doubt(): string | undefined {
    if (this.options.cluster !== undefined || this.clusters.size < 2 || this.ownCluster() !== undefined)
      return undefined;
    const names = [...this.clusters.keys()].join(" and ");
    return `spans come from the clusters ${names}: set sources.otlp.cluster to the one of this application`;
  }

  private withoutNamespace(service: string): string | undefined {
    const name = meshlessName(service, this.options.namespace);
    return this.known.has(name) ? name : undefined;
  }

  private makerOf(resource: SpanResource): string | undefined {
    const { host, instance } = resource;
    const pod = [instance, host].find((name) => name !== undefined && this.pods.has(name));
    if (pod === undefined) return this.processes.get(instance ?? "") || undefined;
    resource.instance = pod;
    resource.isPod = true;
    return this.pods.get(pod);
  }

  /** An instance that two services name is no process, and a host has many. */
  private noteProcess({ host, instance }: SpanResource, service: string): void {
    if (instance === undefined || instance === host || this.pods.has(instance)) return;
    const known = this.processes.get(instance);
    if (known === service || known === SHARED) return;
    if (this.processes.size >= MOST_REMEMBERED) this.processes.clear();
    this.processes.set(instance, known === undefined ? service : SHARED);
  }

  private isOtherCluster({ host, instance }: SpanResource, cluster: string): boolean {
    if (this.options.cluster !== undefined) return cluster !== this.options.cluster;
    let pods = this.clusters.get(cluster);
    if (pods === undefined && this.clusters.size < MOST_CLUSTERS) {
      pods = new Set();
      this.clusters.set(cluster, pods);
    }
    for (const name of [instance, host])
      if (name !== undefined && this.pods.has(name) && pods !== undefined && pods.size < MOST_PODS)
        pods.add(name);
    const own = this.ownCluster();
    return own !== undefined && own !== cluster;
  }

  /** The cluster whose spans name more of the application's pods than those of any other; undefined while none does. */
  private ownCluster(): string | undefined {
    const [first, second] = [...this.clusters].sort(([, a], [, b]) => b.size - a.size);
    if (first === undefined || first[1].size === (second?.[1].size ?? 0)) return undefined;
    return first[0];
  }
}

/** The kind of a span that a process made under another name than its own. */
export const libraryKind = (kind: number): number =>
  kind === SPAN_KIND.client ? DERIVED_KIND.library : kind;
