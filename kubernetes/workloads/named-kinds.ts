import { z } from "zod";
import { WORKLOAD_KINDS } from "@tradewind/core/contract/application.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { LastingProblem } from "@tradewind/core/process/lasting-problem.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { ApiClient } from "../client/client.ts";
import { apiVersionOf } from "../client/resources.ts";
import type { Resource } from "../client/resources.ts";
import { ListOf } from "../objects/bounded.ts";
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

/** As the Application's own schema allows. */
const MOST_SERVICES = 5_000;

/** The services of an Application resource, as far as they name workloads. */
export const NamingServices = ListOf(
  z.object({
    name: z.string(),
    workload: z
      .object({
        apiVersion: z.string().optional(),
        kind: z.string().default("Deployment"),
        name: z.string(),
      })
      .optional(),
  }),
  MOST_SERVICES,
);

interface NamingApplication {
  readonly namespace: string;
  readonly services: Readonly<z.infer<typeof NamingServices>>;
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
interface ReadScale extends Pick<Scalable, "podSelector" | "replicasWanted"> {
  /** As it was watched when `/scale` was read. */
  readonly object: Scalable;
}

export interface NamedKindsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly follow: (resource: Resource, schema: z.ZodType<Scalable>) => readonly Reflector<Scalable>[];
  readonly onChange: () => void;
}

/** Between two discoveries while a kind is missing: it may be installed later. */
const DISCOVER_MS = 60_000;
/** From a failure to the next attempt. */
const RETRY_MS = 10_000;
const MOST_KINDS = 20;

/**
 * Follows workloads of whatever kinds applications name: the kind is found by discovery, its objects are watched, and `/scale` says their
 * replicas and which pods are theirs. Of a kind nothing but what is named is read.
 */
export class NamedKinds {
  readonly #options: NamedKindsOptions;
  readonly #reflectors = new Map<string, readonly Reflector<Scalable>[]>();
  /** By uid of the object. */
  readonly #scales = new Map<string, ReadScale>();
  /** When `/scale` could not be read last, by uid of the object. Monotonic. */
  readonly #failedMs = new Map<string, number>();
  readonly #failure: LastingProblem;
  /** Undefined before the first answer. */
  #kinds: readonly Resource[] | undefined;
  #discoveredMs = Number.NEGATIVE_INFINITY;
  #isBusy = false;
  #isStopped = false;

  constructor(options: NamedKindsOptions) {
    this.#options = options;
    this.#failure = new LastingProblem(options.log, () => options.clock.monotonicMs());
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
    this.#followAll(named);
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#isBusy || this.#isStopped) return;
    const mayDiscover = nowMs - this.#discoveredMs >= DISCOVER_MS;
    const isMissing = mayDiscover && named.some((each) => this.#resourceOf(each) === undefined);
    if (!isMissing && !named.some((each) => this.#isStale(each))) return;
    this.#isBusy = true;
    void this.#read(named, isMissing).finally(() => {
      this.#isBusy = false;
    });
  }

  /** Those of the named whose `/scale` was read. */
  all(named: readonly NamedWorkload[]): Scalable[] {
    return named.flatMap((each) => {
      const object = this.#objectOf(each);
      const read = object && this.#scales.get(object.uid);
      if (object === undefined || read === undefined) return [];
      const { podSelector, replicasWanted } = read;
      return [{ ...object, replicasWanted, ...(podSelector && { podSelector }) }];
    });
  }

  /** Kinds that an application names and the cluster does not have, in words; undefined where there is none, and before the first answer. */
  problem(named: readonly NamedWorkload[]): string | undefined {
    if (this.#kinds === undefined) return undefined;
    const missing = named.filter((each) => this.#resourceOf(each) === undefined);
    return missing.length === 0 ? undefined : missing.map(unknownKind).join("; ").slice(0, 900);
  }

  #resourceOf(named: NamedWorkload): Resource | undefined {
    return this.#kinds?.find((kind) => isKind(kind, named));
  }

  #objectOf(named: NamedWorkload): Scalable | undefined {
    const resource = this.#resourceOf(named);
    const reflectors = resource === undefined ? undefined : this.#reflectors.get(keyOf(resource));
    for (const { items } of reflectors ?? []) {
      const object = items.get(`${named.namespace}/${named.name}`);
      if (object !== undefined) return object;
    }
    return undefined;
  }

  /** Its object is another one than that of which `/scale` was read last, and it is time to try. */
  #isStale(named: NamedWorkload): boolean {
    const object = this.#objectOf(named);
    if (object === undefined || this.#scales.get(object.uid)?.object === object) return false;
    const failedMs = this.#failedMs.get(object.uid) ?? Number.NEGATIVE_INFINITY;
    return this.#options.clock.monotonicMs() - failedMs >= RETRY_MS;
  }

  /** What fails is tried again later, and keeps nothing else from being read. */
  async #read(named: readonly NamedWorkload[], isMissing: boolean): Promise<void> {
    const stale = named.filter((each) => this.#isStale(each));
    const reads = [
      ...(isMissing ? [async () => this.#discover(named)] : []),
      ...stale.map((each) => async () => this.#readScale(each)),
    ];
    const problems: string[] = [];
    for (const read of reads) await read().catch((error: unknown) => problems.push(describeError(error)));
    const [problem] = problems;
    if (problem !== undefined)
      this.#failure.found(problem, { problem }, "what scales a workload cannot be read");
    else if (this.#failedMs.size === 0) this.#failure.over();
    this.#options.onChange();
  }

  async #discover(named: readonly NamedWorkload[]): Promise<void> {
    const { client, clock, log } = this.#options;
    this.#discoveredMs = clock.monotonicMs();
    this.#kinds = await scalableKinds(client);
    const problem = this.problem(named);
    if (problem !== undefined) log.warn({ problem }, "a workload cannot be scaled");
    this.#followAll(named);
  }

  #followAll(named: readonly NamedWorkload[]): void {
    for (const each of named) {
      const resource = this.#resourceOf(each);
      if (resource === undefined || this.#reflectors.has(keyOf(resource))) continue;
      if (this.#isStopped || this.#reflectors.size >= MOST_KINDS) return;
      const reflectors = this.#options.follow(resource, scalable(resource.kind, apiVersionOf(resource)));
      this.#reflectors.set(keyOf(resource), reflectors);
      for (const reflector of reflectors) reflector.start();
    }
  }

  async #readScale(named: NamedWorkload): Promise<void> {
    const [resource, object] = [this.#resourceOf(named), this.#objectOf(named)];
    if (resource === undefined || object === undefined) return;
    const { name, namespace } = named;
    this.#failedMs.set(object.uid, this.#options.clock.monotonicMs());
    const { spec, status } = await this.#options.client.get(
      { resource, namespace, name, subresource: "scale" },
      Scale,
    );
    this.#failedMs.delete(object.uid);
    const podSelector = parseSelector(status?.selector ?? "");
    this.#scales.set(object.uid, {
      replicasWanted: spec?.replicas ?? 0,
      ...(podSelector && { podSelector }),
      object,
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
