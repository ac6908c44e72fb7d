import { ListOf } from "../objects/bounded.ts";
import { z } from "zod";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ApiClient } from "../client/client.ts";
import { RESOURCES } from "../client/resources.ts";
import { ANNOTATIONS, StringMap } from "../objects/metadata.ts";
import { Reflector } from "../watch/reflector.ts";
import type { WatchObserver } from "../watch/reflector.ts";
import { parseApplication } from "./file.ts";

export interface ApplicationPlace {
  readonly namespace: string;
  readonly name: string;
}

const PLACE = /^crd:(?<namespace>[a-z0-9][-a-z0-9]{0,62})\/(?<name>[a-z0-9][-a-z0-9.]{0,252})$/;

/**
 * Reads `crd:namespace/name`. Undefined when it is a file.
 * @throws TradewindError `invalid-input` when it begins like a resource and is none
 */
export function applicationPlace(config: string): ApplicationPlace | undefined {
  if (!config.startsWith("crd:")) return undefined;
  const groups = PLACE.exec(config)?.groups;
  if (groups === undefined) {
    throw new TradewindError("invalid-input", `'${config.slice(0, 200)}' is not crd:namespace/name`);
  }
  return { namespace: groups["namespace"] ?? "", name: groups["name"] ?? "" };
}

const MOST_MANAGERS = 100;

/** Who wrote which fields last. */
const ManagedFields = z.object({
  manager: z.string().max(200).default("unknown"),
  time: z.string().max(40).nullish(),
  subresource: z.string().nullish(),
  fieldsV1: z.looseObject({ "f:spec": z.unknown().optional() }).nullish(),
});

/** An Application resource, as it is read. */
export const Resource = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    generation: z.number().optional(),
    annotations: StringMap,
    // One that is not understood names no editor, and keeps nobody from being planned.
    managedFields: ListOf(ManagedFields, MOST_MANAGERS).catch([]),
  }),
  spec: z.custom<Record<string, unknown>>(
    (spec) => typeof spec === "object" && spec !== null && !Array.isArray(spec),
  ),
});

/** What annotations of an Application say. */
export interface Annotated {
  /** Overrides of its services, as JSON; absent where there are none. */
  readonly override?: string;
  /** Ids of changes that are decided on. */
  readonly approved: readonly string[];
  readonly refused: readonly string[];
  /** Field manager that wrote its spec last. */
  readonly editor?: string;
}

/** How the newest state of an application's configuration was read. */
export interface ConfigurationReading {
  /** What is wrong with it; absent where it is the one in use. */
  readonly problem?: string | undefined;
  /** Generation of the state in use; absent where there is none, or it is of a file. */
  readonly generation?: number | undefined;
}

const APPROVE = "tradewind.dev/approve";
const REFUSE = "tradewind.dev/refuse";
/** Some 1,000 ids, or 100 overrides; what follows is not read. */
const MOST_CHARACTERS = 20_000;

/** Ids are separated by commas. An id in both is refused. */
export function annotatedIn({ annotations, managedFields }: z.infer<typeof Resource>["metadata"]): Annotated {
  const idsOf = (name: string): string[] =>
    (annotations[name] ?? "")
      .slice(0, MOST_CHARACTERS)
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== "");
  const refused = new Set(idsOf(REFUSE));
  const [editor] = managedFields
    .filter(({ fieldsV1, subresource }) => (subresource ?? "") === "" && fieldsV1?.["f:spec"] !== undefined)
    .toSorted((a, b) => ((a.time ?? "") < (b.time ?? "") ? 1 : -1));
  const override = annotations[ANNOTATIONS.override]?.slice(0, MOST_CHARACTERS);
  return {
    approved: idsOf(APPROVE).filter((each) => !refused.has(each)),
    refused: [...refused],
    ...(override !== undefined && { override }),
    ...(editor !== undefined && { editor: editor.manager }),
  };
}

export const NOTHING_ANNOTATED: Annotated = { approved: [], refused: [] };

export interface ApplicationResourceOptions extends ApplicationPlace {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: WatchObserver;
}

/**
 * Follows one Application resource. A state that is not valid is logged and passed over: the last valid one stays. Once the
 * resource is deleted there is no application, and nothing is planned for it.
 */
export class ApplicationResource {
  private readonly options: ApplicationResourceOptions;
  private readonly reflector: Reflector<z.infer<typeof Resource>>;
  private application: Application | undefined;
  private invalid: string | undefined;
  /** Of the state in use. */
  private generation: number | undefined;
  private lastSpec = "";
  private announce: () => void = () => undefined;

  constructor(options: ApplicationResourceOptions) {
    this.options = options;
    const { client, clock, log, name, namespace, observer } = options;
    this.reflector = new Reflector({
      client,
      resource: RESOURCES.applications,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      schema: Resource,
      clock,
      log,
      observer,
      onChange: () => this.take(),
    });
  }

  start(): void {
    this.reflector.start();
  }

  async stop(): Promise<void> {
    await this.reflector.stop();
  }

  /** Changes that its annotations decide on. */
  annotated(): Annotated {
    const [resource] = this.reflector.items.values();
    return resource === undefined ? NOTHING_ANNOTATED : annotatedIn(resource.metadata);
  }

  current(): Application | undefined {
    return this.application;
  }

  /** Why its newest state is not the one in use; undefined where it is, or where there is none. */
  problem(): string | undefined {
    return this.invalid;
  }

  /** Generation of the state in use. */
  currentGeneration(): number | undefined {
    return this.generation;
  }

  /** Why there is no application (yet). */
  whyNot(): string {
    const { name, namespace } = this.options;
    const { problem, synced } = this.reflector.state;
    if (problem !== undefined) return problem;
    return synced
      ? `there is no valid Application '${name}' in namespace '${namespace}'; kubectl get applications -n ${namespace}`
      : "the Kubernetes API has not answered yet";
  }

  /** Resolves with the first valid state. */
  async first(): Promise<Application> {
    return new Promise((resolve) => {
      this.announce = () => {
        if (this.application !== undefined) resolve(this.application);
      };
      this.announce();
    });
  }

  private take(): void {
    const { log, name, namespace } = this.options;
    const [resource] = this.reflector.items.values();
    const spec = JSON.stringify(resource?.spec ?? null);
    if (this.invalid === undefined && spec === this.lastSpec) this.generation = resource?.metadata.generation;
    if (spec === this.lastSpec) return;
    this.lastSpec = spec;
    this.invalid = undefined;
    if (resource === undefined) {
      if (this.application !== undefined) log.warn({ name, namespace }, "the Application was deleted");
      this.application = undefined;
      this.generation = undefined;
      return;
    }
    try {
      const what = `the Application '${name}' in namespace '${namespace}'`;
      const changed = this.application !== undefined;
      this.application = parseApplication({ ...resource.spec, name, namespace }, what);
      this.generation = resource.metadata.generation;
      if (changed) log.info({ name, namespace }, "the Application changed");
      this.announce();
    } catch (error) {
      this.invalid = describeError(error);
      log.error({ problem: this.invalid }, "the Application is not valid; keeping its last valid state");
    }
  }
}
