import { randomUUID } from "node:crypto";
import { createServer as createHttp } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Connection } from "@tradewind/kubernetes/client/connection.ts";
import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import type { PolicyRule } from "@tradewind/kubernetes/rbac/table.ts";
import {
  jsonPatch,
  leavesOf,
  mergePatch,
  PatchProblem,
  removeAt,
  strategicPatch,
  valueAt,
} from "./json-patch.ts";
import type { JsonPatchOperation } from "./json-patch.ts";

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

/** One request as an authorizer sees it. */
export interface ApiCall {
  readonly user: string;
  readonly verb: string;
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly contentType: string;
  status: number;
}

/** What a user may do: in one namespace, or everywhere. */
export interface Grant {
  readonly namespace?: string;
  readonly rules: readonly PolicyRule[];
}

interface HistoryEvent {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly collection: string;
  readonly object: KubeObject;
}

interface Watcher {
  readonly collection: string;
  readonly send: (type: string, object: unknown) => void;
  readonly matches: (object: KubeObject) => boolean;
  readonly end: () => void;
  readonly wantsBookmarks: boolean;
}

type Fault = (call: ApiCall, response: ServerResponse) => boolean;

const collectionOf = ({ group, plural }: Pick<Resource, "group" | "plural">): string => `${group}/${plural}`;
const objectKey = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`;

/** An API server's behaviour over real HTTP, with an object store in memory. What no grant covers is refused and remembered. */
export class FakeApiServer {
  readonly calls: ApiCall[] = [];
  /** Calls that RBAC refused. */
  readonly refused: ApiCall[] = [];
  /** `in-stream`: a watch that begins too far back is answered by an ERROR event, as kube-apiserver does; or by 410. */
  expiredWatch: "in-stream" | "status" = "in-stream";
  private readonly server;
  private readonly scheme: string;
  private readonly resources = new Map<string, Resource>();
  private readonly objects = new Map<string, Map<string, KubeObject>>();
  private readonly users = new Map<string, string>([["admin-token", "admin"]]);
  private readonly grants = new Map<string, readonly Grant[]>();
  private readonly owners = new Map<string, Map<string, Set<string>>>();
  private readonly watchers = new Set<Watcher>();
  private readonly continues = new Map<string, { version: number; items: KubeObject[] }>();
  private faults: Fault[] = [];
  private history: HistoryEvent[] = [];
  private version = 1_000;
  private compactedAt = 1_000;

  private constructor(tls?: { cert: Buffer; key: Buffer }) {
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      void this.serve(request, response);
    };
    this.server = tls === undefined ? createHttp(listener) : createHttps(tls, listener);
    this.scheme = tls === undefined ? "http" : "https";
    for (const resource of Object.values(RESOURCES)) this.install(resource);
  }

  /** Stops with the test. */
  static async start(tls?: { cert: Buffer; key: Buffer }): Promise<FakeApiServer> {
    const fake = new FakeApiServer(tls);
    await new Promise<void>((resolve) => fake.server.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => fake.stop());
    return fake;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.scheme}://127.0.0.1:${this.port}`;
  }

  /** A connection as one of the users. */
  connection(token = "admin-token", namespace = "tradewind"): Connection {
    return {
      server: this.url,
      namespace,
      credentials: () =>
        Promise.resolve({ headers: { authorization: `Bearer ${token}` }, tls: {}, generation: "1" }),
    };
  }

  /** Lets a user in, with no more rights than these. */
  addUser(user: string, token: string, grants: readonly Grant[]): void {
    this.users.set(token, user);
    this.grants.set(user, grants);
  }

  expireToken(token: string): void {
    this.users.delete(token);
  }

  install(resource: Resource): void {
    this.resources.set(collectionOf(resource), resource);
    const collection = collectionOf(resource);
    if (!this.objects.has(collection)) this.objects.set(collection, new Map());
  }

  uninstall(resource: Resource): void {
    this.resources.delete(collectionOf(resource));
    this.dropWatches();
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
    this.continues.clear();
  }

  /** Ends every open watch, cleanly or by cutting the connection. */
  dropWatches(): void {
    for (const watcher of this.watchers) watcher.end();
  }

  cutConnections(): void {
    this.server.closeAllConnections();
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

  /** Answers the next `times` calls that match with an error. */
  failNext(
    times: number,
    status: number,
    options: { matches?: (call: ApiCall) => boolean; headers?: Record<string, string>; reason?: string } = {},
  ): void {
    let left = times;
    this.fault((call, response) => {
      if (left === 0 || options.matches?.(call) === false) return false;
      left -= 1;
      call.status = status;
      this.refuse(response, status, options.reason ?? "Injected", "injected", options.headers);
      return true;
    });
  }

  /** Installs a fault: it answers (or does not) when it returns true. */
  fault(fault: Fault): void {
    this.faults.push(fault);
  }

  clearFaults(): void {
    this.faults = [];
  }

  async stop(): Promise<void> {
    this.dropWatches();
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await readJson(request);
      const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
      const user = token === undefined ? undefined : this.users.get(token);
      const call = this.parse(request, user ?? "", body);
      if (call === undefined) {
        response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
        return;
      }
      this.calls.push(call);
      response.on("finish", () => {
        call.status = response.statusCode;
      });
      if (this.faults.some((fault) => fault(call, response))) return;
      if (user === undefined) this.refuse(response, 401, "Unauthorized", "Unauthorized");
      else if (call.resource === RESOURCES.selfSubjectAccessReviews.plural) this.answerReview(call, response);
      else if (!this.isAllowed(call)) {
        this.refused.push(call);
        const what = `${call.resource} in API group "${call.group}" in namespace "${call.namespace ?? ""}"`;
        this.refuse(response, 403, "Forbidden", `User "${user}" cannot ${call.verb} resource ${what}`);
      } else this.answer(call, request, response);
    } catch (error) {
      this.refuse(response, error instanceof PatchProblem ? 422 : 500, "Invalid", String(error));
    }
  }

  private parse(request: IncomingMessage, user: string, body: unknown): ApiCall | undefined {
    const url = new URL(request.url ?? "/", "http://server");
    const parts = url.pathname
      .split("/")
      .filter((part) => part !== "")
      .map(decodeURIComponent);
    const group = parts[0] === "api" ? "" : (parts[1] ?? "");
    let rest = parts.slice(parts[0] === "api" ? 2 : 3);
    let namespace: string | undefined;
    if (rest[0] === "namespaces" && rest.length > 2) {
      namespace = rest[1];
      rest = rest.slice(2);
    }
    const [plural, name, subresource] = rest;
    const resource = this.resources.get(`${group}/${plural ?? ""}`);
    if (resource === undefined) return undefined;
    const isWatch = url.searchParams.get("watch") === "true";
    const verbs: Record<string, string> = {
      GET: isWatch ? "watch" : name === undefined ? "list" : "get",
      POST: "create",
      PUT: "update",
      PATCH: "patch",
      DELETE: "delete",
    };
    return {
      user,
      verb: verbs[request.method ?? ""] ?? "",
      group,
      resource: subresource === undefined ? (plural ?? "") : `${plural}/${subresource}`,
      namespace,
      name,
      query: url.searchParams,
      body,
      contentType: request.headers["content-type"] ?? "",
      status: 0,
    };
  }

  private isAllowed(call: ApiCall): boolean {
    const grants = this.grants.get(call.user);
    if (grants === undefined) return true;
    return grants.some(
      ({ namespace, rules }) =>
        (namespace === undefined || namespace === call.namespace) && rules.some((rule) => covers(rule, call)),
    );
  }

  private answer(call: ApiCall, request: IncomingMessage, response: ServerResponse): void {
    const resource = this.resources.get(`${call.group}/${call.resource.split("/")[0]}`)!;
    const metadataOnly = request.headers.accept?.includes("as=PartialObjectMetadata") === true;
    if (call.verb === "list") this.answerList(resource, call, response, metadataOnly);
    else if (call.verb === "watch") this.answerWatch(resource, call, response, metadataOnly);
    else if (call.verb === "create") this.answerCreate(resource, call, response);
    else this.answerOne(resource, call, response);
  }

  private answerList(
    resource: Resource,
    call: ApiCall,
    response: ServerResponse,
    metadataOnly: boolean,
  ): void {
    const token = call.query.get("continue");
    const begun = token === null ? undefined : this.continues.get(token);
    if (token !== null && begun === undefined) {
      this.refuse(response, 410, "Expired", "The provided continue parameter is too old");
      return;
    }
    const all =
      begun?.items ??
      this.list(resource).filter((object) => inScope(object, call) && selected(object, call.query));
    const limit = Number(call.query.get("limit") ?? 0) || all.length;
    const page = all.slice(0, limit);
    const rest = all.slice(limit);
    const version = begun?.version ?? this.version;
    let next: string | undefined;
    if (rest.length > 0) {
      next = randomUUID();
      this.continues.set(next, { version, items: rest });
    }
    send(response, 200, {
      kind: metadataOnly ? "PartialObjectMetadataList" : `${resource.kind}List`,
      apiVersion: metadataOnly ? "meta.k8s.io/v1" : apiVersionOf(resource),
      metadata: { resourceVersion: String(version), ...(next !== undefined && { continue: next }) },
      // Objects in lists carry neither kind nor apiVersion.
      items: page.map((object) => {
        const { apiVersion: _version, kind: _kind, ...item } = metadataOnly ? partial(object) : object;
        return item;
      }),
    });
  }

  private answerWatch(
    resource: Resource,
    call: ApiCall,
    response: ServerResponse,
    metadataOnly: boolean,
  ): void {
    const from = Number(call.query.get("resourceVersion") ?? this.version);
    const tooOld = from < this.compactedAt;
    const status = {
      kind: "Status",
      apiVersion: "v1",
      code: 410,
      reason: "Expired",
      message: "too old resource version",
    };
    if (tooOld && this.expiredWatch === "status") {
      send(response, 410, status);
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const sendEvent = (type: string, object: unknown): void => {
      response.write(`${JSON.stringify({ type, object })}\n`);
    };
    if (tooOld) {
      sendEvent("ERROR", status);
      response.end();
      return;
    }
    const collection = collectionOf(resource);
    const matches = (object: KubeObject): boolean => inScope(object, call) && selected(object, call.query);
    const watcher: Watcher = {
      collection,
      matches,
      wantsBookmarks: call.query.get("allowWatchBookmarks") === "true",
      send: (type, object) => {
        const whole = type === "ADDED" || type === "MODIFIED" || type === "DELETED";
        sendEvent(type, metadataOnly && whole ? partial(object as KubeObject) : object);
      },
      end: () => {
        this.watchers.delete(watcher);
        response.end();
      },
    };
    for (const event of this.history) {
      if (event.version > from && event.collection === collection && matches(event.object)) {
        watcher.send(event.type, event.object);
      }
    }
    this.watchers.add(watcher);
    const timeoutSeconds = Number(call.query.get("timeoutSeconds") ?? 0);
    const timer = timeoutSeconds > 0 ? setTimeout(watcher.end, timeoutSeconds * 1_000) : undefined;
    response.on("close", () => {
      clearTimeout(timer);
      this.watchers.delete(watcher);
    });
  }

  /** Answers what a user may do, as `kubectl auth can-i` asks. */
  private answerReview(call: ApiCall, response: ServerResponse): void {
    const { spec } = call.body as { spec: { resourceAttributes: Record<string, string> } };
    const { group = "", name, namespace, resource = "", subresource, verb = "" } = spec.resourceAttributes;
    const asked: ApiCall = {
      ...call,
      verb,
      group,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      namespace,
      name,
      query: new URLSearchParams(),
    };
    send(response, 201, { ...(call.body as object), status: { allowed: this.isAllowed(asked) } });
  }

  private answerCreate(resource: Resource, call: ApiCall, response: ServerResponse): void {
    const object = call.body as KubeObject;
    const metadata = object.metadata as KubeObject["metadata"] & { generateName?: string };
    const name = metadata.name ?? `${metadata.generateName ?? ""}${randomUUID().slice(0, 5)}`;
    if (resource.namespaced && call.namespace === undefined) {
      this.refuse(response, 400, "BadRequest", "an empty namespace may not be set during creation");
      return;
    }
    if (this.find(resource, call.namespace, name) !== undefined) {
      this.refuse(response, 409, "AlreadyExists", `${resource.plural} "${name}" already exists`);
      return;
    }
    const { status: _dropped, ...rest } = object;
    const stored = this.store(resource, {
      ...rest,
      metadata: {
        ...object.metadata,
        name,
        ...(call.namespace !== undefined && { namespace: call.namespace }),
      },
    });
    send(response, 201, stored);
  }

  private answerOne(resource: Resource, call: ApiCall, response: ServerResponse): void {
    const name = call.name ?? "";
    const known = this.find(resource, call.namespace, name);
    if (known === undefined) {
      this.refuse(response, 404, "NotFound", `${resource.plural} "${name}" not found`);
    } else if (call.verb === "get") send(response, 200, known);
    else if (call.verb === "delete") {
      this.remove(resource, call.namespace, name);
      send(response, 200, { kind: "Status", status: "Success" });
    } else this.answerChange(resource, call, known, response);
  }

  private answerChange(resource: Resource, call: ApiCall, known: KubeObject, response: ServerResponse): void {
    const wished =
      call.verb === "update" ? (call.body as KubeObject) : this.patched(resource, call, known, response);
    if (wished === undefined) return;
    const sent = (call.body as { metadata?: { resourceVersion?: string } }).metadata?.resourceVersion;
    const given = call.verb === "update" ? wished.metadata.resourceVersion : sent;
    if (given !== undefined && given !== known.metadata.resourceVersion) {
      this.refuse(
        response,
        409,
        "Conflict",
        "the object has been modified; please apply your changes to the latest version",
      );
      return;
    }
    const subresource = call.resource.split("/")[1];
    if (subresource === "resize" && !onlyResourcesDiffer(known, wished)) {
      this.refuse(response, 422, "Invalid", "spec: Forbidden: only cpu and memory resources are mutable");
      return;
    }
    const merged: KubeObject =
      subresource === "status"
        ? { ...known, status: wished.status }
        : { ...wished, status: known.status, metadata: { ...wished.metadata, uid: known.metadata.uid! } };
    send(response, 200, this.store(resource, merged));
  }

  private patched(
    resource: Resource,
    call: ApiCall,
    known: KubeObject,
    response: ServerResponse,
  ): KubeObject | undefined {
    const type = call.contentType.split(";")[0];
    if (type === "application/json-patch+json") {
      return jsonPatch(known, call.body as JsonPatchOperation[]) as KubeObject;
    }
    if (type === "application/merge-patch+json") return mergePatch(known, call.body) as KubeObject;
    if (type === "application/strategic-merge-patch+json")
      return strategicPatch(known, call.body) as KubeObject;
    if (type === "application/apply-patch+yaml") return this.applied(resource, call, known, response);
    this.refuse(response, 415, "UnsupportedMediaType", type ?? "");
    return undefined;
  }

  /** Server-side apply: fields have owners by manager; what a manager leaves out and nobody else owns goes away. */
  private applied(
    resource: Resource,
    call: ApiCall,
    known: KubeObject,
    response: ServerResponse,
  ): KubeObject | undefined {
    const manager = call.query.get("fieldManager");
    const body = call.body as KubeObject;
    if (manager === null || body.kind !== resource.kind || body.apiVersion !== apiVersionOf(resource)) {
      this.refuse(response, 400, "BadRequest", "apply needs a fieldManager, kind and apiVersion");
      return undefined;
    }
    const { metadata: _metadata, kind: _kind, apiVersion: _version, ...fields } = body;
    const owners = this.ownersOf(known);
    const mine = new Set(leavesOf(fields));
    for (const [other, paths] of owners) {
      if (other === manager) continue;
      for (const path of mine) {
        if (
          !paths.has(path) ||
          JSON.stringify(valueAt(known, path)) === JSON.stringify(valueAt(fields, path))
        )
          continue;
        if (call.query.get("force") !== "true") {
          this.refuse(response, 409, "Conflict", `conflict with "${other}": ${path}`);
          return undefined;
        }
        paths.delete(path);
      }
    }
    const result = structuredClone(known);
    for (const path of owners.get(manager) ?? []) {
      const shared = [...owners].some(([other, paths]) => other !== manager && paths.has(path));
      if (!mine.has(path) && !shared) removeAt(result, path);
    }
    owners.set(manager, mine);
    return mergePatch(result, fields) as KubeObject;
  }

  private ownersOf(object: KubeObject): Map<string, Set<string>> {
    const uid = object.metadata.uid!;
    const owners = this.owners.get(uid) ?? new Map<string, Set<string>>();
    this.owners.set(uid, owners);
    return owners;
  }

  private store(resource: Resource, object: KubeObject): KubeObject {
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

  private refuse(
    response: ServerResponse,
    code: number,
    reason: string,
    message: string,
    headers: Record<string, string> = {},
  ): void {
    send(
      response,
      code,
      { kind: "Status", apiVersion: "v1", status: "Failure", message, reason, code },
      headers,
    );
  }
}

function covers(rule: PolicyRule, call: ApiCall): boolean {
  if (!rule.apiGroups.includes(call.group) || !rule.resources.includes(call.resource)) return false;
  if (!rule.verbs.includes(call.verb)) return false;
  if (rule.resourceNames === undefined) return true;
  const byField = /metadata\.name=([^,]+)/.exec(call.query.get("fieldSelector") ?? "")?.[1];
  return rule.resourceNames.includes(call.name ?? byField ?? "");
}

function inScope(object: KubeObject, { name, namespace }: ApiCall): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  return name === undefined || object.metadata.name === name;
}

function selected(object: KubeObject, query: URLSearchParams): boolean {
  const fields = (query.get("fieldSelector") ?? "").split(",").filter((each) => each !== "");
  const labels = (query.get("labelSelector") ?? "").split(",").filter((each) => each !== "");
  return (
    fields.every((each) => {
      const [path = "", value] = each.split("=");
      return String(valueAt(object, `/${path.replaceAll(".", "/")}`)) === value;
    }) &&
    labels.every((each) => {
      const [key = "", value] = each.split("=");
      return object.metadata.labels?.[key] === value;
    })
  );
}

function onlyResourcesDiffer(before: KubeObject, after: KubeObject): boolean {
  const bare = (object: KubeObject): string => {
    const spec = structuredClone(object.spec) as { containers: { resources?: unknown }[] };
    for (const container of spec.containers) delete container.resources;
    return JSON.stringify(spec);
  };
  return bare(before) === bare(after);
}

const partial = (object: KubeObject): KubeObject => ({
  kind: "PartialObjectMetadata",
  apiVersion: "meta.k8s.io/v1",
  metadata: object.metadata,
});

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? undefined : (JSON.parse(text) as unknown);
}
