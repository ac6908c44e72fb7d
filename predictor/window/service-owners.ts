import { meshlessName } from "./mesh-name.ts";
import { Places } from "./places.ts";
import { DERIVED_KIND, SPAN_KIND } from "./span.ts";
import type { SpanResource } from "./span.ts";

/** Processes and names that are remembered. */
const MOST_REMEMBERED = 20_000;
/** Time until services that are not known are asked for again. */
const RETRY_MS = 1_000;

/** In the place of a service. */
const SHARED = "";
/** Among pods: `service.namespace` is that of the application, whose pod made the spans. */
const OWN_NAMESPACE = "";

export interface OwnersOptions {
  readonly namespace: string;
  /** Services that have a workload, or that the application names. */
  readonly known: () => Iterable<string>;
  /** Names and uids of pods with the services of their workloads. */
  readonly pods: () => Iterable<readonly [string, string]>;
  /** `k8s.cluster.name` of the application; undefined where nobody said it. */
  readonly cluster: string | undefined;
  /** `deployment.environment.name` of the application; undefined where nobody said it. */
  readonly environment: string | undefined;
  /** Time between two looks at what is known. */
  readonly refreshMs: number;
}

/** Whose time a resource's spans are. */
export const OWNERSHIP = {
  /** Of the service that it names. */
  own: 0,
  /** Of the service whose process made them, under a name of their own. */
  library: 1,
  /** Of another namespace, cluster or environment. */
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
  private readonly clusters: Places;
  private readonly environments: Places;
  private readonly regions = new Places(undefined);
  private readonly groups = new Places(undefined);
  private readMs = -Infinity;

  constructor(options: OwnersOptions) {
    this.options = options;
    this.clusters = new Places(options.cluster);
    this.environments = new Places(options.environment);
  }

  refresh(nowMs: number): void {
    const { known, pods, refreshMs } = this.options;
    if (Math.abs(nowMs - this.readMs) < (this.pods.size > 0 ? refreshMs : RETRY_MS)) return;
    this.readMs = nowMs;
    this.clusters.refresh(nowMs);
    this.environments.refresh(nowMs);
    this.regions.refresh(nowMs);
    this.groups.refresh(nowMs);
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
    if (this.isElsewhere(resource)) return OWNERSHIP.foreign;
    if (this.known.size === 0) return OWNERSHIP.own;
    const owner = this.known.has(service) ? service : this.withoutNamespace(service);
    if (owner !== undefined) {
      if (owner !== service) resource.owner = owner;
      this.noteProcess(resource, owner);
      this.notePod(resource);
      return OWNERSHIP.own;
    }
    const maker = this.noteMaker(resource);
    if (maker === undefined) return OWNERSHIP.own;
    resource.owner = maker;
    return OWNERSHIP.library;
  }

  /** What cannot be told apart for lack of a setting, in words. */
  doubts(): readonly string[] {
    const { clusters, environments, groups, options, regions } = this;
    const isCertain = options.cluster !== undefined || options.environment !== undefined;
    const kinds = [
      ["clusters", clusters, "set sources.otlp.cluster to the one of this application"],
      ["environments", environments, "set sources.otlp.environment to the one of this application"],
      ...(isCertain
        ? []
        : ([
            ["regions", regions, "let their resources say k8s.cluster.name, and set sources.otlp.cluster"],
            ["service namespaces", groups, "let their resources say k8s.namespace.name"],
          ] as const)),
    ] as const;
    return kinds.flatMap(([kind, places, remedy]) => {
      const names = places.doubtful().join(" and ");
      return names === "" ? [] : [`spans of one service come from the ${kind} ${names}: ${remedy}`];
    });
  }

  private withoutNamespace(service: string): string | undefined {
    const name = meshlessName(service, this.options.namespace);
    return this.known.has(name) ? name : undefined;
  }

  /** In a pod the host's name is the pod's. */
  private notePod(resource: SpanResource): void {
    const { host } = resource;
    if (resource.isPod === true || host === undefined || !this.pods.has(host)) return;
    resource.instance = host;
    resource.isPod = true;
  }

  /** The service whose pod or process sends spans under a name that has no workload; a pod is noted as their instance. */
  private noteMaker(resource: SpanResource): string | undefined {
    const { host, instance } = resource;
    const podName = [instance, host].find((name) => name !== undefined && this.pods.has(name));
    if (podName === undefined) return this.processes.get(instance ?? "") || undefined;
    resource.instance = podName;
    resource.isPod = true;
    return this.pods.get(podName);
  }

  /** An instance that two services name is no process, and a host has many. */
  private noteProcess({ host, instance }: SpanResource, service: string): void {
    if (instance === undefined || instance === host || this.pods.has(instance)) return;
    const known = this.processes.get(instance);
    if (known === service || known === SHARED) return;
    if (this.processes.size >= MOST_REMEMBERED) this.processes.clear();
    this.processes.set(instance, known === undefined ? service : SHARED);
  }

  private isElsewhere(resource: SpanResource): boolean {
    const { cluster, environment, group, host, instance, namespace, region, service } = resource;
    if ((cluster ?? environment ?? region ?? group) === undefined) return false;
    const named = [instance ?? "", host ?? ""].filter((name) => this.pods.has(name));
    if (cluster !== undefined && this.clusters.isOther(cluster, service, named)) return true;
    if (environment !== undefined && this.environments.isOther(environment, service, named)) return true;
    if (region !== undefined && this.regions.isOther(region, service, named)) return true;
    if (group === undefined || namespace !== undefined) return false;
    const own = group === this.options.namespace ? [...named, OWN_NAMESPACE] : named;
    return this.groups.isOther(group, service, own, true);
  }
}

/** The kind of a span that a process made under another name than its own. */
export const libraryKind = (kind: number): number =>
  kind === SPAN_KIND.client ? DERIVED_KIND.library : kind;
