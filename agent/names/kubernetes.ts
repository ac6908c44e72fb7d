import { readFileSync } from "node:fs";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { ContainerNames, NameIndex } from "../container/names.ts";
import type { PodEvent, PodNames, PodPage } from "../parse/pod-event.ts";
import { parsePodEvent, parsePodList } from "../parse/pod-event.ts";

/** How to reach the Kubernetes API. */
export interface KubernetesAccess {
  /** `https://host:port`; plain `http` only makes sense for a test. */
  readonly server: string;
  /** Read anew for each request: kubelet replaces it before it expires. */
  readonly tokenPath: string | undefined;
  readonly caPath: string | undefined;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** A page of a list and a line of a watch may be so long. */
const LONGEST_BODY_BYTES = 64 * 1024 * 1024;
const LONGEST_LINE_CHARACTERS = 4 * 1024 * 1024;
const PAGE_PODS = 250;
const MOST_PODS = 2_000;
/** The server ends a watch after this long; a silent one is given up a little later. */
const WATCH_SECONDS = 300;
const LIST_TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A watch that lived as long works: pauses begin from the shortest again, and a version that is too old is listed at once. */
const LIVED_MS = 5_000;
/** HTTP status "Gone": the resource version is too old to watch from. */
const TOO_OLD = 410;

/** The access a pod has by its service account; undefined outside a cluster. */
export function inClusterAccess(
  environment: Readonly<Record<string, string | undefined>>,
): KubernetesAccess | undefined {
  const host = environment["KUBERNETES_SERVICE_HOST"];
  const port = environment["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (host === undefined || host === "") return undefined;
  const shown = host.includes(":") ? `[${host}]` : host;
  return {
    server: `https://${shown}:${port}`,
    tokenPath: `${SERVICE_ACCOUNT}/token`,
    caPath: `${SERVICE_ACCOUNT}/ca.crt`,
  };
}

/**
 * Names of the pods on one node: a list, then a watch, again and again with growing pauses. The agent works without it;
 * while the API is away the last names stand.
 */
export class KubernetesNames {
  readonly #access: KubernetesAccess;
  readonly #node: string;
  readonly #log: Logger;
  readonly #rng: Rng;
  readonly #pods = new Map<string, PodNames>();
  #changed = false;
  #failures = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;
  #request: ClientRequest | undefined;
  #isStopped = false;

  constructor(access: KubernetesAccess, { node, log, rng }: { node: string; log: Logger; rng: Rng }) {
    this.#access = access;
    this.#node = node;
    this.#log = log;
    this.#rng = rng;
  }

  get failuresTotal(): number {
    return this.#failures;
  }

  start(): void {
    void this.#follow();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#request?.destroy();
  }

  /** @returns the names when they changed since the last call */
  poll(): NameIndex | undefined {
    if (!this.#changed) return undefined;
    this.#changed = false;
    return indexPods(this.#pods.values());
  }

  async #follow(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#watch(await this.#list());
      } catch (error) {
        if (this.#isStopped) return;
        this.#failures += 1;
        this.#log.warn(`pod names are not up to date: ${describeError(error)}`);
        await this.#pause();
      }
    }
  }

  async #pause(): Promise<void> {
    const pauseMs = this.#pauseMs * (0.5 + this.#rng());
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    await new Promise<void>((resolve) => {
      this.#timer = setTimeout(resolve, pauseMs);
      this.#timer.unref();
    });
  }

  /** Replaces what is known; returns the version from which to watch. */
  async #list(): Promise<string> {
    const pods = new Map<string, PodNames>();
    let next = "";
    for (;;) {
      const page: PodPage = await this.#page(next);
      for (const pod of page.pods) if (pods.size < MOST_PODS) pods.set(pod.uid, pod);
      next = page.next;
      if (next !== "" && pods.size < MOST_PODS) continue;
      this.#pods.clear();
      for (const [uid, pod] of pods) this.#pods.set(uid, pod);
      this.#changed = true;
      return page.resourceVersion;
    }
  }

  async #page(next: string): Promise<PodPage> {
    const query = `limit=${PAGE_PODS}${next === "" ? "" : `&continue=${encodeURIComponent(next)}`}`;
    const response = await this.#get(query, LIST_TIMEOUT_MS);
    response.setEncoding("utf8");
    let body = "";
    for await (const chunk of response) {
      body += String(chunk);
      if (body.length > LONGEST_BODY_BYTES)
        throw new TradewindError("too-large", "the list of pods is too large");
    }
    const page = parsePodList(body);
    if (page === undefined)
      throw new TradewindError("malformed-answer", "the API server did not answer a list of pods");
    return page;
  }

  /**
   * Follows changes until the version has become too old, and a new list is needed.
   * @throws TradewindError when the server refuses, breaks off, or wants a new list so soon that a pause is due
   */
  async #watch(from: string): Promise<void> {
    const listedMs = performance.now();
    let version: string | undefined = from;
    while (version !== undefined && !this.#isStopped) {
      const startMs = performance.now();
      try {
        version = await this.#watchOnce(version, listedMs);
      } finally {
        if (performance.now() - startMs >= LIVED_MS) this.#pauseMs = FIRST_PAUSE_MS;
      }
      // A server that ends every watch at once must not be asked in a tight loop.
      if (version !== undefined && performance.now() - startMs < FIRST_PAUSE_MS) await this.#pause();
    }
  }

  /** @returns the version from which to go on once the server has ended the watch; undefined when a new list is needed */
  async #watchOnce(from: string, listedMs: number): Promise<string | undefined> {
    let version = from;
    const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}&resourceVersion=${encodeURIComponent(from)}`;
    const response = await this.#get(query, (WATCH_SECONDS + 30) * 1e3);
    for await (const event of eventsOf(response)) {
      if (event.type === "error") {
        if (event.code === TOO_OLD && performance.now() - listedMs >= LIVED_MS) return undefined;
        throw new TradewindError(
          "watch-ended",
          `the Kubernetes API ended the watch of this node's pods with error ${event.code}`,
        );
      }
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#apply(event);
      if (event.resourceVersion !== "") version = event.resourceVersion;
    }
    return version;
  }

  #apply(event: PodEvent): void {
    if (event.type === "set") {
      if (this.#pods.size < MOST_PODS || this.#pods.has(event.pod.uid))
        this.#pods.set(event.pod.uid, event.pod);
      this.#changed = true;
    } else if (event.type === "delete") {
      this.#changed = this.#pods.delete(event.uid) || this.#changed;
    }
  }

  async #get(query: string, timeoutMs: number): Promise<IncomingMessage> {
    const { server, tokenPath, caPath } = this.#access;
    const selector = encodeURIComponent(`spec.nodeName=${this.#node}`);
    const url = new URL(`/api/v1/pods?fieldSelector=${selector}&${query}`, server);
    const options: RequestOptions = {
      timeout: timeoutMs,
      headers: {
        accept: "application/json",
        "user-agent": "tradewind-agent",
        ...(tokenPath === undefined
          ? {}
          : { authorization: `Bearer ${readFileSync(tokenPath, "utf8").trim()}` }),
      },
      ...(caPath === undefined ? {} : { ca: readFileSync(caPath) }),
    };
    const { request } = process.getBuiltinModule(url.protocol === "http:" ? "node:http" : "node:https");
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(url, options, resolve);
      this.#request = sent;
      sent.on("timeout", () => sent.destroy(new Error(`no answer for ${timeoutMs} ms`)));
      sent.on("error", reject);
      sent.end();
    }).catch((cause: unknown) => {
      throw new TradewindError("unreachable", `cannot reach the Kubernetes API at ${server}`, { cause });
    });
    if (response.statusCode === 200) return response;
    response.resume();
    throw new TradewindError(
      "refused",
      `the Kubernetes API answered ${response.statusCode ?? 0} to a list of this node's pods; the agent needs list and watch on pods`,
    );
  }
}

/** The events of a watch, one a line; what is not an event about a pod is passed over. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<PodEvent> {
  response.setEncoding("utf8");
  let rest = "";
  for await (const chunk of response) {
    const lines = `${rest}${String(chunk)}`.split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE_CHARACTERS)
      throw new TradewindError("too-large", "a watch event is too large");
    for (const line of lines) {
      const event = line.trim() === "" ? undefined : parsePodEvent(line);
      if (event !== undefined) yield event;
    }
  }
}

/** Names by container id and by the uid in cgroup paths. */
export function indexPods(pods: Iterable<PodNames>): NameIndex {
  const byContainerId = new Map<string, ContainerNames>();
  const byPodUid = new Map<string, ContainerNames>();
  const running = new Map<string, readonly string[]>();
  for (const { uid, cgroupUid, name, namespace, containers } of pods) {
    const names = { podUid: uid, podName: name, namespace };
    byPodUid.set(cgroupUid, names);
    running.set(
      cgroupUid,
      containers.filter(({ hasEnded }) => !hasEnded).map(({ id }) => id),
    );
    for (const container of containers) {
      byContainerId.set(container.id, { ...names, containerName: container.name });
    }
  }
  return { byContainerId, byPodUid, running, processes: [] };
}
