import type { z } from "zod";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ApiClient } from "../client/client.ts";
import { RESOURCES } from "../client/resources.ts";
import { Reflector } from "../watch/reflector.ts";
import type { WatchObserver } from "../watch/reflector.ts";
import type { ApplicationEntries, ApplicationEntry } from "./entry.ts";
import { parseApplication } from "./file.ts";
import { annotatedIn, Resource } from "./resource.ts";

export interface ApplicationResourcesOptions {
  readonly client: ApiClient;
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  /** Absent: every Application. */
  readonly name?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: WatchObserver | undefined;
}

interface ResourceEntry {
  /** As it was read, and as text: an object that is the same need not be compared. */
  readonly read: z.infer<typeof Resource>["spec"];
  readonly spec: string;
  readonly entry: ApplicationEntry;
}

/** Follows Application resources, as a single one is followed: one that is not valid any more keeps its last valid state. */
export class ApplicationResources implements ApplicationEntries {
  readonly #reflector: Reflector<z.infer<typeof Resource>>;
  #held = new Map<string, ResourceEntry>();
  #onChange: () => void = () => undefined;

  constructor({ name, ...options }: ApplicationResourcesOptions) {
    this.#reflector = new Reflector({
      ...options,
      resource: RESOURCES.applications,
      ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
      schema: Resource,
      onChange: () => this.#take(),
    });
  }

  entries(): readonly ApplicationEntry[] {
    return [...this.#held].map(([key, { entry }]) => {
      const resource = this.#reflector.items.get(key);
      return Object.assign({}, entry, resource && { annotated: annotatedIn(resource.metadata) });
    });
  }

  whyNot(): string | undefined {
    const { problem, synced } = this.#reflector.state;
    return synced ? undefined : (problem ?? "the Kubernetes API has not answered yet");
  }

  async start(onChange: () => void): Promise<void> {
    this.#onChange = onChange;
    this.#reflector.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }

  #take(): void {
    const now = new Map<string, ResourceEntry>();
    for (const [key, { metadata, spec }] of this.#reflector.items) {
      const before = this.#held.get(key);
      const text = before?.read === spec ? before.spec : JSON.stringify(spec);
      const entry = before?.spec === text ? again(metadata, before.entry) : entryOf(metadata, spec, before);
      now.set(key, { read: spec, spec: text, entry });
    }
    this.#held = now;
    this.#onChange();
  }
}

/** The same spec may be of another generation, once the resource was deleted and created again. */
const again = (
  { generation }: z.infer<typeof Resource>["metadata"],
  entry: ApplicationEntry,
): ApplicationEntry => (entry.problem === undefined ? { ...entry, generation } : entry);

function entryOf(
  { generation: newest, name, namespace }: z.infer<typeof Resource>["metadata"],
  spec: z.infer<typeof Resource>["spec"],
  before: ResourceEntry | undefined,
): ApplicationEntry {
  const place = { namespace, name };
  const origin = `crd:${namespace}/${name}`;
  let application: Application | undefined = before?.entry.application;
  let generation = before?.entry.generation;
  let problem: string | undefined;
  try {
    application = parseApplication(
      { ...spec, ...place },
      `the Application '${name}' in namespace '${namespace}'`,
    );
    generation = newest;
  } catch (error) {
    problem = describeError(error).slice(0, 1_000);
  }
  return { origin, place, application, generation, problem };
}
