import { randomUUID } from "node:crypto";
import { apiVersionOf } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    creationTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [more: string]: unknown;
  };
  spec?: unknown;
  status?: unknown;
  [more: string]: unknown;
}

interface HistoryEvent {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly collection: string;
  readonly object: KubeObject;
}

/** Somebody who follows a collection. */
interface Watcher {
  readonly collection: string;
  readonly send: (type: string, object: unknown) => void;
  readonly matches: (object: KubeObject) => boolean;
  readonly end: () => void;
  readonly wantsBookmarks: boolean;
}

const collectionOf = ({ group, plural }: Pick<Resource, "group" | "plural">): string => `${group}/${plural}`;
const objectKey = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`;

/** One page of a collection as it was when its first page was read. */
export interface Page {
  readonly version: number;
  readonly items: readonly KubeObject[];
  /** Asks for the next page; absent after the last. */
  readonly next?: string;
}

/** Objects by kind with versions and a history, as etcd behind an API server has them; tells watchers of every change. */
export class FakeObjects {
  private readonly resources = new Map<string, Resource>();
  private readonly objects = new Map<string, Map<string, KubeObject>>();
  private readonly owners = new Map<string, Map<string, Set<string>>>();
  private readonly watchers = new Set<Watcher>();
  private readonly unread = new Map<string, { version: number; items: readonly KubeObject[] }>();
  private history: HistoryEvent[] = [];
  private version = 1_000;
  private compactedAt = 1_000;
  /** As Kubernetes 1.33 and later do in place. */
  resizesPods = false;

  install(resource: Resource): void {
    const collection = collectionOf(resource);
    this.resources.set(collection, resource);
    if (!this.objects.has(collection)) this.objects.set(collection, new Map());
  }

  /** Aggregated discovery. Kinds of other groups than the built-in ones have a `/scale` where an object says `scale`. */
  discovered(): object[] {
    return [...this.resources.values()].map(({ group, kind, namespaced, plural, version }) => {
      const objects = [...(this.objects.get(collectionOf({ group, plural }))?.values() ?? [])];
      const subresources = objects.some((each) => "scale" in each) ? [{ subresource: "scale" }] : [];
      const scope = namespaced ? "Namespaced" : "Cluster";
      const resources = [{ resource: plural, responseKind: { kind }, scope, subresources }];
      return { metadata: { name: group }, versions: [{ version, resources }] };
    });
  }

  /** Aggregated discovery of the core group's pods. */
  discoveredCore(): object[] {
    const subresources = this.resizesPods ? [{ subresource: "resize" }] : [];
    const pods = { resource: "pods", responseKind: { kind: "Pod" }, scope: "Namespaced", subresources };
    return [{ metadata: {}, versions: [{ version: "v1", resources: [pods] }] }];
  }

  /** Its watches end; its objects are there again once it is installed again. */
  uninstall(resource: Resource): void {
    this.resources.delete(collectionOf(resource));
    this.dropWatches();
  }

  resource(group: string, plural: string): Resource | undefined {
    return this.resources.get(collectionOf({ group, plural }));
  }

  /** Creates or replaces an object, status and all, as somebody who may do anything. */
  put(resource: Resource, object: KubeObject): KubeObject {
    const known = this.find(resource, object.metadata.namespace, object.metadata.name);
    return this.store(resource, {
      ...structuredClone(object),
      metadata: { ...known?.metadata, ...structuredClone(object.metadata) },
    });
  }

  find(resource: Resource, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.objects.get(collectionOf(resource))?.get(objectKey(namespace, name));
  }

  list(resource: Resource): KubeObject[] {
    return [...(this.objects.get(collectionOf(resource))?.values() ?? [])];
  }

  remove(resource: Resource, namespace: string | undefined, name: string): void {
    const collection = collectionOf(resource);
    const object = this.objects.get(collection)?.get(objectKey(namespace, name));
    if (object === undefined) return;
    this.objects.get(collection)!.delete(objectKey(namespace, name));
    this.version += 1;
    object.metadata.resourceVersion = String(this.version);
    this.record("DELETED", collection, structuredClone(object));
  }

  /** Forgets all history: watches that ask for older versions, and lists half read, get 410. */
  compact(): void {
    this.version += 1;
    this.compactedAt = this.version;
    this.history = [];
    this.unread.clear();
  }

  /** Ends every open watch, cleanly. */
  dropWatches(): void {
    for (const watcher of this.watchers) watcher.end();
  }

  get openWatches(): number {
    return this.watchers.size;
  }

  /** Tells all watchers the version of now, as the real one does about once a minute. */
  bookmark(): void {
    this.version += 1;
    for (const { collection, send, wantsBookmarks } of this.watchers) {
      const resource = this.resources.get(collection);
      if (!wantsBookmarks || resource === undefined) continue;
      send("BOOKMARK", {
        kind: resource.kind,
        apiVersion: apiVersionOf(resource),
        metadata: { resourceVersion: String(this.version), creationTimestamp: null },
      });
    }
  }

  /** Sends an event of any kind to every watcher of a resource. */
  sendRaw(resource: Resource, type: string, object: unknown): void {
    for (const watcher of this.watchers) {
      if (watcher.collection === collectionOf(resource)) watcher.send(type, object);
    }
  }

  /**
   * The next page of a collection, of those objects that match.
   * @param token of the page before; absent for the first
   * @returns undefined when the token is no longer known
   */
  protected page(
    resource: Resource,
    {
      limit,
      matches,
      token,
    }: { limit: number; matches: (object: KubeObject) => boolean; token: string | null },
  ): Page | undefined {
    const begun =
      token === null
        ? { version: this.version, items: this.list(resource).filter(matches) }
        : this.unread.get(token);
    if (begun === undefined) return undefined;
    const { items, version } = begun;
    const rest = items.slice(limit || items.length);
    if (rest.length === 0) return { version, items };
    const next = randomUUID();
    this.unread.set(next, { version, items: rest });
    return { version, items: items.slice(0, limit), next };
  }

  /** Whether changes since a version can no longer be told. */
  protected isTooOld(version: number): boolean {
    return version < this.compactedAt;
  }

  /** The version that a watch begins from that names none. */
  protected get newestVersion(): number {
    return this.version;
  }

  /** Tells a watcher what has changed since a version, and from then on what changes. @returns ends it */
  protected follow(resource: Resource, from: number, watcher: Omit<Watcher, "collection">): () => void {
    const following = { ...watcher, collection: collectionOf(resource) };
    for (const event of this.history) {
      if (event.version <= from || event.collection !== following.collection) continue;
      if (following.matches(event.object)) following.send(event.type, event.object);
    }
    this.watchers.add(following);
    return () => this.watchers.delete(following);
  }

  /** Field managers of an object, and the fields that each owns. */
  protected ownersOf(object: KubeObject): Map<string, Set<string>> {
    const uid = object.metadata.uid!;
    const owners = this.owners.get(uid) ?? new Map<string, Set<string>>();
    this.owners.set(uid, owners);
    return owners;
  }

  /** Stores an object as a new version. Its generation rises when its spec changes. */
  protected store(resource: Resource, object: KubeObject): KubeObject {
    const collection = collectionOf(resource);
    const { name, namespace } = object.metadata;
    const key = objectKey(namespace, name);
    const known = this.objects.get(collection)!.get(key);
    this.version += 1;
    const specChanged = JSON.stringify(known?.spec) !== JSON.stringify(object.spec);
    const stored: KubeObject = {
      ...object,
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: {
        ...object.metadata,
        uid: known?.metadata.uid ?? object.metadata.uid ?? randomUUID(),
        creationTimestamp:
          known?.metadata.creationTimestamp ?? object.metadata.creationTimestamp ?? new Date().toISOString(),
        generation: (known?.metadata.generation ?? 0) + (specChanged ? 1 : 0),
        resourceVersion: String(this.version),
      },
    };
    this.objects.get(collection)!.set(key, stored);
    this.record(known === undefined ? "ADDED" : "MODIFIED", collection, structuredClone(stored));
    return stored;
  }

  private record(type: HistoryEvent["type"], collection: string, object: KubeObject): void {
    this.history.push({ version: this.version, type, collection, object });
    for (const watcher of this.watchers) {
      if (watcher.collection === collection && watcher.matches(object)) watcher.send(type, object);
    }
  }
}
