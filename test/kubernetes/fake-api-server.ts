import { randomUUID } from "node:crypto";
import { createServer as createHttp } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { onTestFinished } from "vitest";
import type { Connection } from "@tradewind/kubernetes/client/connection.ts";
import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { FakeAccess } from "./fake-access.ts";
import type { ApiCall, Grant } from "./fake-access.ts";
import { FakeObjects } from "./fake-objects.ts";
import { serveTunnel } from "./fake-port-forward.ts";
import type { KubeObject } from "./fake-objects.ts";
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

type Fault = (call: ApiCall, response: ServerResponse) => boolean;

/** An API server's behaviour over real HTTP, with its objects in memory. What no grant covers is refused and remembered. */
export class FakeApiServer extends FakeObjects {
  readonly calls: ApiCall[] = [];
  /** Calls that RBAC refused. */
  readonly refused: ApiCall[] = [];
  /** `in-stream`: a watch that begins too far back is answered by an ERROR event, as kube-apiserver does; or by 410. */
  expiredWatch: "in-stream" | "status" = "in-stream";
  /** Ports of this machine that ports of pods lead to, by `namespace/pod:port`. */
  readonly forwards = new Map<string, number>();
  private readonly server;
  private readonly scheme: string;
  private readonly access = new FakeAccess();
  private faults: Fault[] = [];
  private readonly tunnels = new Set<Duplex>();

  private constructor(tls?: { cert: Buffer; key: Buffer }) {
    super();
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      void this.serve(request, response);
    };
    this.server = tls === undefined ? createHttp(listener) : createHttps(tls, listener);
    this.scheme = tls === undefined ? "http" : "https";
    this.server.on("upgrade", (request: IncomingMessage, socket: Duplex) => this.upgrade(request, socket));
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
    this.access.add(user, token, grants);
  }

  expireToken(token: string): void {
    this.access.expire(token);
  }

  /** Ends every connection where it is. */
  cutConnections(): void {
    this.server.closeAllConnections();
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
    for (const tunnel of this.tunnels) tunnel.destroy();
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await readJson(request);
      const user = this.access.userOf(request.headers.authorization);
      if ((request.url === "/apis" || request.url === "/api") && user !== undefined) {
        const items = request.url === "/apis" ? this.discovered() : this.discoveredCore();
        send(response, 200, { kind: "APIGroupDiscoveryList", items });
        return;
      }
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
      else if (!this.access.allows(call)) {
        this.refused.push(call);
        const what = `${call.resource} in API group "${call.group}" in namespace "${call.namespace ?? ""}"`;
        this.refuse(response, 403, "Forbidden", `User "${user}" cannot ${call.verb} resource ${what}`);
      } else this.answer(call, request, response);
    } catch (error) {
      this.refuse(response, error instanceof PatchProblem ? 422 : 500, "Invalid", String(error));
    }
  }

  /** `pods/portforward` over a web socket, for users who may get and create it. */
  private upgrade(request: IncomingMessage, socket: Duplex): void {
    this.tunnels.add(socket);
    socket.on("close", () => this.tunnels.delete(socket));
    socket.on("error", () => undefined);
    const user = this.access.userOf(request.headers.authorization);
    const call = this.parse(request, user ?? "", undefined);
    const refuseWith = (line: string): void =>
      void socket.end(`HTTP/1.1 ${line}\r\ncontent-length: 0\r\n\r\n`);
    if (user === undefined) refuseWith("401 Unauthorized");
    else if (call?.resource !== "pods/portforward") refuseWith("404 Not Found");
    else if (["get", "create"].some((verb) => !this.access.allows({ ...call, verb })))
      refuseWith("403 Forbidden");
    else if (this.find(RESOURCES.pods, call.namespace, call.name ?? "") === undefined)
      refuseWith("404 Not Found");
    else {
      const port = Number(call.query.get("ports"));
      this.calls.push({ ...call, status: 101 });
      serveTunnel(request, socket, port, this.forwards.get(`${call.namespace}/${call.name}:${port}`));
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
    const resource = this.resource(group, plural ?? "");
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

  private answer(call: ApiCall, request: IncomingMessage, response: ServerResponse): void {
    const resource = this.resource(call.group, call.resource.split("/")[0] ?? "")!;
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
    const page = this.page(resource, {
      limit: Number(call.query.get("limit") ?? 0),
      matches: (object) => inScope(object, call) && selected(object, call.query),
      token: call.query.get("continue"),
    });
    if (page === undefined) {
      this.refuse(response, 410, "Expired", "The provided continue parameter is too old");
      return;
    }
    send(response, 200, {
      kind: metadataOnly ? "PartialObjectMetadataList" : `${resource.kind}List`,
      apiVersion: metadataOnly ? "meta.k8s.io/v1" : apiVersionOf(resource),
      metadata: {
        resourceVersion: String(page.version),
        ...(page.next !== undefined && { continue: page.next }),
      },
      // Objects in lists carry neither kind nor apiVersion.
      items: page.items.map((object) => {
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
    const from = Number(call.query.get("resourceVersion") ?? this.newestVersion);
    const tooOld = this.isTooOld(from);
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
    const stop = this.follow(resource, from, {
      matches: (object) => inScope(object, call) && selected(object, call.query),
      wantsBookmarks: call.query.get("allowWatchBookmarks") === "true",
      send: (type, object) => {
        const whole = type === "ADDED" || type === "MODIFIED" || type === "DELETED";
        sendEvent(type, metadataOnly && whole ? partial(object as KubeObject) : object);
      },
      end: () => end(),
    });
    const end = (): void => {
      stop();
      response.end();
    };
    const timeoutSeconds = Number(call.query.get("timeoutSeconds") ?? 0);
    const timer = timeoutSeconds > 0 ? setTimeout(end, timeoutSeconds * 1_000) : undefined;
    response.on("close", () => {
      clearTimeout(timer);
      stop();
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
    send(response, 201, { ...(call.body as object), status: { allowed: this.access.allows(asked) } });
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
    } else if (call.verb === "get" && call.resource.endsWith("/scale")) {
      send(response, 200, { kind: "Scale", apiVersion: "autoscaling/v1", ...(known["scale"] as object) });
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

function inScope(object: KubeObject, { name, namespace }: ApiCall): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  return name === undefined || object.metadata.name === name;
}

function selected(object: KubeObject, query: URLSearchParams): boolean {
  const fields = (query.get("fieldSelector") ?? "").split(",").filter((each) => each !== "");
  const labels = (query.get("labelSelector") ?? "").split(",").filter((each) => each !== "");
  return (
    fields.every((each) => {
      const [path = "", value] = each.split(/!?=/);
      const found = valueAt(object, `/${path.replaceAll(".", "/")}`);
      const isSame = (typeof found === "string" ? found : "") === value;
      return isSame !== each.includes("!=");
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
