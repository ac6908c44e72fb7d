import { z } from "zod";
import { WORKLOAD_KINDS } from "@tradewind/core/contract/application.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { ApiClient } from "../client/client.ts";
import { apiVersionOf } from "../client/resources.ts";
import type { Resource } from "../client/resources.ts";
import { parseSelector } from "../objects/label-selector.ts";
import { scalable } from "../objects/scalable.ts";
import type { Scalable } from "../objects/scalable.ts";
import type { Reflector } from "../watch/reflector.ts";
import { scalableKinds } from "./discovery.ts";

/** A workload of another kind than those that every cluster is watched for. */
export interface NamedWorkload {
  readonly namespace: string;
  readonly service: string;
  readonly kind: string;
  readonly name: string;
  /** Where kinds of several groups have the same name. */
  readonly apiVersion?: string | undefined;
}

/** What an application names its workloads. */
export interface NamingApplication {
  readonly namespace: string;
  readonly services: readonly Pick<Application["services"][number], "name" | "workload">[];
}

/** The workloads that applications name by kinds of their own. */
export const namedWorkloads = (applications: readonly NamingApplication[]): NamedWorkload[] =>
  applications.flatMap(({ namespace, services }) =>
    services.flatMap(({ name: service, workload }): NamedWorkload[] =>
      workload === undefined || WATCHED.has(workload.kind) ? [] : [{ ...workload, namespace, service }],
    ),
  );

const WATCHED: ReadonlySet<string> = new Set(WORKLOAD_KINDS);

const Scale = z.object({
  spec: z.object({ replicas: z.number().int().min(0).nullish() }).nullish(),
  status: z.object({ selector: z.string().nullish() }).nullish(),
});

/** What `/scale` said of an object. */
interface Scaled {
  readonly replicas: number;
  readonly selector: string;
  /** Of what was watched when it was asked for. */
  readonly of: Scalable;
}

export interface NamedKindsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly follow: (resource: Resource, schema: z.ZodType<Scalable>) => readonly Reflector<Scalable>[];
  readonly onChange: () => void;
}

/** A cluster is asked again so long after a kind was not found: it may be installed later. */
const AGAIN_MS = 60_000;
const MOST_KINDS = 20;

/**
 * Follows workloads of whatever kinds applications name: the kind is found by discovery, its objects are watched, and `/scale` says their
 * replicas and which pods are theirs. Of a kind nothing but what is named is read.
 */
export class NamedKinds {
  readonly #options: NamedKindsOptions;
  readonly #reflectors = new Map<string, readonly Reflector<Scalable>[]>();
  readonly #scales = new Map<string, Scaled>();
  #known: readonly Resource[] = [];
  #askedMs = Number.NEGATIVE_INFINITY;
  #hasAnswer = false;
  #isBusy = false;
  #isStopped = false;

  constructor(options: NamedKindsOptions) {
    this.#options = options;
  }

  reflectors(): Reflector<Scalable>[] {
    return [...this.#reflectors.values()].flat();
  }

  /** Begins nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Follows these from now on. Costs nothing while all of it is known. */
  want(named: readonly NamedWorkload[]): void {
    if (named.length === 0 || this.#isBusy || this.#isStopped) return;
    const unknown = named.some((each) => this.#resourceOf(each) === undefined);
    const isDue = this.#options.clock.monotonicMs() - this.#askedMs >= AGAIN_MS;
    if (!(unknown && isDue) && named.every((each) => !this.#isStale(each))) return;
    this.#isBusy = true;
    void this.#read(named, unknown && isDue).finally(() => {
      this.#isBusy = false;
    });
  }

  /** Those of the named that `/scale` has told of. */
  all(named: readonly NamedWorkload[]): Scalable[] {
    return named.flatMap((each) => {
      const object = this.#objectOf(each);
      const scaled = object && this.#scales.get(object.uid);
      if (object === undefined || scaled === undefined) return [];
      const podSelector = parseSelector(scaled.selector);
      return [{ ...object, replicasWanted: scaled.replicas, ...(podSelector && { podSelector }) }];
    });
  }

  /** What the cluster does not have of what an application names, in words; undefined where nothing is amiss, or it is not known yet. */
  problem(named: readonly NamedWorkload[]): string | undefined {
    if (!this.#hasAnswer) return undefined;
    const missing = named.filter((each) => this.#resourceOf(each) === undefined);
    return missing.length === 0 ? undefined : missing.map(unknownKind).join("; ").slice(0, 900);
  }

  #resourceOf(named: NamedWorkload): Resource | undefined {
    return this.#known.find((each) => isKind(each, named));
  }

  #objectOf(named: NamedWorkload): Scalable | undefined {
    const resource = this.#resourceOf(named);
    const reflectors = resource === undefined ? undefined : this.#reflectors.get(keyOf(resource));
    for (const { items } of reflectors ?? []) {
      const found = items.get(`${named.namespace}/${named.name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Its object is another one than that of which `/scale` was read last. */
  #isStale(named: NamedWorkload): boolean {
    const object = this.#objectOf(named);
    return object !== undefined && this.#scales.get(object.uid)?.of !== object;
  }

  async #read(named: readonly NamedWorkload[], mayDiscover: boolean): Promise<void> {
    const { client, clock, log, onChange } = this.#options;
    try {
      if (mayDiscover) {
        this.#askedMs = clock.monotonicMs();
        this.#known = await scalableKinds(client);
        this.#hasAnswer = true;
        const problem = this.problem(named);
        if (problem !== undefined) log.warn({ problem }, "a workload cannot be scaled");
      }
      for (const each of named) {
        const resource = this.#resourceOf(each);
        if (resource !== undefined) this.#follow(resource);
      }
      for (const each of named) if (this.#isStale(each)) await this.#readScale(each);
      onChange();
    } catch (error) {
      log.warn({ problem: describeError(error) }, "what scales a workload cannot be read");
    }
  }

  #follow(resource: Resource): void {
    if (this.#isStopped || this.#reflectors.has(keyOf(resource)) || this.#reflectors.size >= MOST_KINDS)
      return;
    const schema = scalable(resource.kind, apiVersionOf(resource));
    const reflectors = this.#options.follow(resource, schema);
    this.#reflectors.set(keyOf(resource), reflectors);
    for (const reflector of reflectors) reflector.start();
  }

  async #readScale(named: NamedWorkload): Promise<void> {
    const [resource, object] = [this.#resourceOf(named), this.#objectOf(named)];
    if (resource === undefined || object === undefined) return;
    const { name, namespace } = named;
    const { spec, status } = await this.#options.client.get(
      { resource, namespace, name, subresource: "scale" },
      Scale,
    );
    this.#scales.set(object.uid, {
      replicas: spec?.replicas ?? 0,
      selector: status?.selector ?? "",
      of: object,
    });
  }
}

export const isKind = (resource: Resource, { apiVersion, kind }: NamedWorkload): boolean =>
  resource.kind === kind && (apiVersion === undefined || apiVersionOf(resource) === apiVersion);

const keyOf = (resource: Resource): string => `${apiVersionOf(resource)}/${resource.kind}`;

export function unknownKind({ apiVersion, kind, service }: NamedWorkload): string {
  const what = apiVersion === undefined ? kind : `${apiVersion} ${kind}`;
  return `service '${service}': the cluster has no kind '${what}' with replicas that /scale changes`;
}
