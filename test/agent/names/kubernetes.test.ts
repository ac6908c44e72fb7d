import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { NameIndex } from "@tradewind/agent/container/names.ts";
import { inClusterAccess, KubernetesNames } from "@tradewind/agent/names/kubernetes.ts";
import { parsePodEvent, parsePodList, podNames } from "@tradewind/agent/parse/pod-event.ts";
import { waitUntil } from "../../wait-until.ts";

const ID = "f".repeat(64);

function pod(uid: string, name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    metadata: { uid, name, namespace: "shop", resourceVersion: "7", ...more },
    status: {
      initContainerStatuses: [
        {
          name: "migrate",
          containerID: `containerd://${"1".repeat(64)}`,
          state: { terminated: { exitCode: 0 } },
        },
      ],
      containerStatuses: [
        { name: "web", containerID: `containerd://${ID}` },
        { name: "starting", containerID: "" },
      ],
      ephemeralContainerStatuses: [{ name: "debug", containerID: `cri-o://${"2".repeat(64)}` }],
    },
  };
}

describe("what is taken from a pod", () => {
  test("its names, and every container that was created, of all three lists", () => {
    expect(podNames(pod("u1", "web-1"))).toEqual({
      uid: "u1",
      cgroupUid: "u1",
      name: "web-1",
      namespace: "shop",
      containers: [
        { id: ID, name: "web", hasEnded: false },
        { id: "1".repeat(64), name: "migrate", hasEnded: true },
        { id: "2".repeat(64), name: "debug", hasEnded: false },
      ],
    });
  });

  test.each(["kubernetes.io/config.hash", "kubernetes.io/config.mirror"])(
    "a static pod's cgroup is called by the hash in %s, not by its uid",
    (annotation) => {
      const hash = "0123456789abcdef0123456789abcdef";
      expect(podNames(pod("u1", "kube-proxy", { annotations: { [annotation]: hash } }))?.cgroupUid).toBe(
        hash,
      );
    },
  );

  test("any JSON is a pod, or not one", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(podNames(value)?.uid).not.toBe("");
        expect(podNames({ metadata: value, status: value })?.uid).not.toBe("");
        expect(podNames({ metadata: { uid: "u", name: "n", namespace: "s" }, status: value })?.uid).toBe("u");
      }),
    );
  });

  test("any line is an event, or none", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        const event = parsePodEvent(line);
        expect(["set", "delete", "bookmark", "error", undefined]).toContain(event?.type);
        expect(parsePodList(line)?.pods ?? []).toBeInstanceOf(Array);
      }),
    );
  });
});

test("outside a cluster there is no access", () => {
  expect(inClusterAccess({})).toBeUndefined();
  expect(
    inClusterAccess({ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" })?.server,
  ).toBe("https://[fd00::1]:6443");
});

/** An API server as far as the agent needs one. */
class FakeApi {
  readonly server: Server;
  readonly requests: IncomingMessage[] = [];
  pods: Record<string, unknown>[] = [];
  failWith: number | undefined;
  /** What a watch is answered with at once, in the place of staying open: a status, or an event. */
  answerWatches: number | object | undefined;
  /** Of the next page. */
  token = "page 2";
  watches: ServerResponse[] = [];

  constructor() {
    this.server = createServer((request, response) => this.#answer(request, response));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.server.listen(0, "127.0.0.1", () => resolve());
    });
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  send(event: unknown): void {
    for (const watch of this.watches) watch.write(`${JSON.stringify(event)}\n`);
  }

  endWatches(): void {
    for (const watch of this.watches.splice(0)) watch.end();
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(request);
    if (this.failWith !== undefined) {
      response.writeHead(this.failWith).end("{}");
      return;
    }
    const query = new URL(request.url ?? "/", "http://x").searchParams;
    const { answerWatches } = this;
    if (query.get("watch") === "1" && answerWatches !== undefined) {
      if (typeof answerWatches === "number") response.writeHead(answerWatches).end("{}");
      else response.end(`${JSON.stringify(answerWatches)}\n`);
      return;
    }
    if (query.get("watch") === "1") {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      this.watches.push(response);
      return;
    }
    const isSecond = query.get("continue") === this.token;
    const half = Math.ceil(this.pods.length / 2);
    const items = isSecond ? this.pods.slice(half) : this.pods.slice(0, half);
    const metadata = {
      resourceVersion: "42",
      ...(isSecond || this.pods.length < 2 ? {} : { continue: this.token }),
    };
    response.end(JSON.stringify({ metadata, items }));
  }
}

describe("the watch of this node's pods", () => {
  let api: FakeApi;
  let names: KubernetesNames;
  let index: NameIndex | undefined;
  let folder: string;
  let server: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "tradewind-token-"));
    writeFileSync(join(folder, "token"), "secret-1\n");
    api = new FakeApi();
    api.pods = [pod("u1", "web-1"), pod("u2", "web-2")];
    server = await api.listen();
    names = new KubernetesNames(
      { server, tokenPath: join(folder, "token"), caPath: undefined },
      { node: "node a", log: createLog("test", "silent"), rng: seededRng(1) },
    );
    index = undefined;
  });
  afterEach(() => {
    names.stop();
    api.close();
    rmSync(folder, { recursive: true });
  });

  const look = (): NameIndex | undefined => {
    index = names.poll() ?? index;
    return index;
  };

  test("lists page by page, with the token and only this node's pods, then watches from there", async () => {
    names.start();
    await waitUntil(() => api.watches.length === 1);
    expect(look()?.byPodUid.get("u2")?.podName).toBe("web-2");
    expect(look()?.byContainerId.get(ID)).toMatchObject({ containerName: "web", namespace: "shop" });
    expect(names.poll()).toBeUndefined();
    const urls = api.requests.map(({ url }) => new URL(url ?? "", "http://x").searchParams);
    expect(urls).toHaveLength(3);
    for (const query of urls) expect(query.get("fieldSelector")).toBe("spec.nodeName=node a");
    expect(urls[2]?.get("resourceVersion")).toBe("42");
    expect(api.requests[0]?.headers.authorization).toBe("Bearer secret-1");
  });

  test("pods come, change and go", async () => {
    names.start();
    await waitUntil(() => api.watches.length === 1);
    api.send({ type: "ADDED", object: pod("u3", "web-3") });
    await waitUntil(() => look()?.byPodUid.get("u3")?.podName === "web-3");
    api.send({ type: "MODIFIED", object: pod("u3", "web-3b") });
    await waitUntil(() => look()?.byPodUid.get("u3")?.podName === "web-3b");
    api.send({ type: "DELETED", object: pod("u3", "web-3b") });
    await waitUntil(() => look()?.byPodUid.has("u3") === false);
    expect(look()?.byPodUid.size).toBe(2);
  });

  test("a watch that ends goes on from the last version it saw; a version too old is listed anew", async () => {
    names.start();
    await waitUntil(() => api.watches.length === 1);
    api.send({ type: "BOOKMARK", object: { metadata: { resourceVersion: "99" } } });
    api.endWatches();
    await waitUntil(() => api.watches.length === 1);
    expect(api.requests.at(-1)?.url).toContain("resourceVersion=99");
    api.pods = [pod("u9", "web-9")];
    api.send({ type: "ERROR", object: { code: 410, reason: "Expired" } });
    await waitUntil(() => look()?.byPodUid.has("u9") === true);
    expect(look()?.byPodUid.size).toBe(1);
  });

  test("a token of 400 characters asks for the second page", async () => {
    api.token = "t".repeat(400);
    names.start();
    await waitUntil(() => api.watches.length === 1);
    expect([...(look()?.byPodUid.keys() ?? [])]).toEqual(["u1", "u2"]);
  });

  test.each([
    ["ERROR 500", { type: "ERROR", object: { code: 500 } }],
    ["ERROR 410", { type: "ERROR", object: { code: 410, reason: "Expired" } }],
    ["a status 403", 403],
  ])("watches that are answered by %s at once are asked for with pauses that grow", async (_, answer) => {
    // A hundredth of the pauses: 10, 20, 40 … 640 ms, so at most 8 requests in 1.2 s.
    names = new KubernetesNames(
      { server, tokenPath: undefined, caPath: undefined },
      { node: "node a", log: createLog("test", "silent"), rng: () => -0.49 },
    );
    api.answerWatches = answer;
    names.start();
    await delay(1_200);
    const watches = api.requests.filter(({ url }) => url?.includes("watch=1") === true).length;
    expect(watches).toBeGreaterThan(2);
    expect(watches).toBeLessThan(9);
    expect(names.failuresTotal).toBeGreaterThanOrEqual(watches - 1);
    expect(look()?.byPodUid.size).toBe(2);
  });

  test("garbage between events is passed over", async () => {
    names.start();
    await waitUntil(() => api.watches.length === 1);
    for (const watch of api.watches) watch.write("not json\n[]\n{}\n\n");
    api.send({ type: "ADDED", object: pod("u3", "web-3") });
    await waitUntil(() => look()?.byPodUid.has("u3") === true);
  });

  test("while the API refuses, the last names stand and failures are counted", async () => {
    names.start();
    await waitUntil(() => api.watches.length === 1);
    expect(look()?.byPodUid.size).toBe(2);
    api.failWith = 403;
    api.endWatches();
    await waitUntil(() => names.failuresTotal > 0);
    expect(look()?.byPodUid.size).toBe(2);
    writeFileSync(join(folder, "token"), "secret-2\n");
    api.failWith = undefined;
    await waitUntil(() => api.watches.length === 1);
    expect(api.requests.at(-1)?.headers.authorization).toBe("Bearer secret-2");
  });
});
