import type { Clock } from "@tradewind/core/process/clock.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationState } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { fairlyCut } from "@tradewind/core/net/fair-share.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ApiClient } from "../client/client.ts";
import type { WatchObserver } from "../watch/reflector.ts";
import { ApplicationFiles } from "./files.ts";
import type { ApplicationEntries, ApplicationEntry } from "./entry.ts";
import { NOTHING_ANNOTATED } from "./resource.ts";
import type { Annotated, ConfigurationReading } from "./resource.ts";
import { ApplicationResources } from "./resources.ts";
import { pathsOf, requireCluster } from "./sources.ts";
import type { ApplicationSource } from "./sources.ts";

/** More applications of one process are not planned: each exporter keeps a connection for each of them. Namespaces share them. */
export const MOST_APPLICATIONS = 50;
/** Deleted applications whose names are remembered. */
const MOST_DELETED = 1_000;
const FILES_POLL_MS = 2_000;

/** One application, or what should be one, and how it stands. */
export interface FollowedApplication {
  readonly origin: string;
  readonly state: ApplicationState;
  readonly namespace?: string;
  readonly name?: string;
  /** Present where it is planned. */
  readonly application?: Application;
  /** Changes that the annotation of a resource approves. */
  readonly annotated?: Annotated;
  readonly problem?: string;
  /** Generation of the resource's last valid state, where it is planned. */
  readonly generation?: number;
}

export interface FollowedOptions {
  readonly sources: readonly ApplicationSource[];
  /** Absent where no source is in a cluster. */
  readonly client?: ApiClient | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: WatchObserver | undefined;
  /** Called after every change. */
  readonly onChange: () => void;
  readonly filesPollMs?: number;
}

/**
 * Follows several applications. None of them is in another's way: what is wrong with one is said of that one, and of two with
 * one name the first by origin counts.
 */
export class FollowedApplications {
  readonly #options: FollowedOptions;
  readonly #parts: readonly ApplicationEntries[];
  #list: readonly FollowedApplication[] = [];
  readonly #deleted = new Map<string, FollowedApplication>();

  /** @throws TradewindError `invalid-config` where a source needs a cluster and there is none */
  constructor(options: FollowedOptions) {
    this.#options = options;
    const { client, clock, log, observer, sources } = options;
    const paths = pathsOf(sources);
    const isFiles = paths.files.length + paths.directories.length > 0;
    this.#parts = [
      ...(isFiles ? [new ApplicationFiles(paths, options.filesPollMs ?? FILES_POLL_MS)] : []),
      ...sources.flatMap((source) => {
        if (source.kind === "file" || source.kind === "directory") return [];
        const { kind: _, ...place } = source;
        return [new ApplicationResources({ ...place, client: requireCluster(client), clock, log, observer })];
      }),
    ];
  }

  async start(): Promise<void> {
    await Promise.all(this.#parts.map(async (part) => part.start(() => this.#take())));
    this.#take();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#parts.map(async (part) => part.stop()));
  }

  /** Why it is not known yet which applications there are; undefined once it is. */
  whyNot(): string | undefined {
    return this.#parts.map((part) => part.whyNot()).find((why) => why !== undefined);
  }

  /** All of them by origin, the deleted ones last. */
  list(): readonly FollowedApplication[] {
    return [...this.#list, ...this.#deleted.values()];
  }

  /** Those that are planned. */
  planned(): readonly Application[] {
    return this.#list.flatMap(({ application }) => application ?? []);
  }

  find(key: string): Application | undefined {
    return this.planned().find((application) => applicationKey(application) === key);
  }

  /** Whether it should be known and is not: nothing was read yet, it was deleted, or it never was valid. */
  isUnread(key: string): boolean {
    if (this.find(key) !== undefined) return false;
    return this.whyNot() !== undefined || this.list().some((each) => keyOf(each) === key);
  }

  /** How the newest state of an application's configuration was read; empty for one that is not known. */
  reading(key: string): ConfigurationReading {
    return this.#list.find((each) => keyOf(each) === key) ?? {};
  }

  annotated(key: string): Annotated {
    const found = this.#list.find(({ application }) => application && applicationKey(application) === key);
    return found?.annotated ?? NOTHING_ANNOTATED;
  }

  #take(): void {
    const { log, onChange } = this.#options;
    const before = this.planned();
    this.#list = followed(
      this.#parts.flatMap((part) => part.entries()),
      new Set(before.map(applicationKey)),
    );
    const listed = new Set(this.#list.map(keyOf));
    const after = new Set(this.planned().map(applicationKey));
    for (const key of after) this.#deleted.delete(key);
    for (const application of before) {
      const { name, namespace } = application;
      const key = applicationKey(application);
      if (after.has(key) || listed.has(key)) continue;
      log.warn({ name, namespace }, "the application was deleted; it is not planned any more");
      this.#deleted.delete(key);
      this.#deleted.set(key, { origin: key, state: "deleted", name, namespace });
      for (const oldest of this.#deleted.keys()) {
        if (this.#deleted.size <= MOST_DELETED) break;
        this.#deleted.delete(oldest);
      }
    }
    onChange();
  }
}

function keyOf({ name, namespace }: FollowedApplication): string | undefined {
  return name === undefined || namespace === undefined ? undefined : applicationKey({ name, namespace });
}

/** Of each entry how it stands among the others. @param before keys of those that were planned, which keep their places */
function followed(entries: readonly ApplicationEntry[], before: ReadonlySet<string>): FollowedApplication[] {
  const byOrigin = new Map(entries.map((entry) => [entry.origin, entry]));
  const sorted = [...byOrigin.values()].sort((a, b) => (a.origin < b.origin ? -1 : 1));
  const first = new Map<string, string>();
  for (const { application, origin } of sorted) {
    const key = application && applicationKey(application);
    if (key !== undefined && !first.has(key)) first.set(key, origin);
  }
  const unique = sorted.filter(
    ({ application, origin }) => application && first.get(applicationKey(application)) === origin,
  );
  const namespaceOf = ({ application }: ApplicationEntry): string => application?.namespace ?? "";
  const isNew = ({ application }: ApplicationEntry): number =>
    Number(application === undefined || !before.has(applicationKey(application)));
  const inOrder = unique.toSorted((a, b) => isNew(a) - isNew(b));
  const planned = new Set(fairlyCut(inOrder, namespaceOf, MOST_APPLICATIONS));
  return sorted.map((entry) => standing(entry, first, planned.has(entry)));
}

/** @param first of each key the origin that counts @param hasPlace it is among those that one release plans */
function standing(
  { annotated, application, generation, origin, place, problem }: ApplicationEntry,
  first: ReadonlyMap<string, string>,
  hasPlace: boolean,
): FollowedApplication {
  const known = application ?? place;
  const names = known && { namespace: known.namespace, name: known.name };
  const invalid = (why: string): FollowedApplication => ({
    origin,
    state: "invalid",
    ...names,
    problem: why,
  });
  if (application === undefined) return invalid(problem ?? "it has no valid configuration");
  const key = applicationKey(application);
  const other = first.get(key);
  if (other !== undefined && other !== origin) {
    return invalid(`application '${key}' is also configured by ${other}: give one of them another name`);
  }
  if (!hasPlace) {
    return invalid(
      `at most ${MOST_APPLICATIONS} applications are planned by one release, as many of each namespace: install another one for the rest`,
    );
  }
  return {
    origin,
    state: "planned",
    ...names,
    application,
    ...(annotated && { annotated }),
    ...(problem !== undefined && { problem }),
    ...(generation !== undefined && { generation }),
  };
}
