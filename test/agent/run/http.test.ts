import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { HttpDoor } from "@tradewind/core/net/http-door.ts";
import { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startAgent } from "@tradewind/agent/agent.ts";
import { HttpSide } from "@tradewind/agent/run/http.ts";
import { DESCRIBED } from "@tradewind/agent/run/described.ts";
import { describedAnswers } from "../../described-answers.ts";
import { optionsOn } from "../agent-options.ts";
import { waitUntil } from "../../wait-until.ts";
import { v2Files } from "../tree/cgroup-text.ts";
import { Tree } from "../tree/plant.ts";
import { situation, V2 } from "../tree/situation.ts";

let tree: Tree;
let agent: Running;
let url: string;

beforeEach(async () => {
  tree = new Tree().plant(situation(V2, {}, {}));
  agent = await startAgent(optionsOn(tree));
  url = agent.addresses["http"]!;
});
afterEach(async () => {
  await agent.stop();
  tree[Symbol.dispose]();
});

async function containerIds(): Promise<string[]> {
  const snapshot = Snapshot.parse(await (await fetch(`${url}/v1/snapshot`)).json());
  return snapshot.containers.map(({ id }) => id);
}

describe("/metrics", () => {
  test("is plain text for those who ask for nothing, OpenMetrics for those who do", async () => {
    const plain = await fetch(`${url}/metrics`);
    expect(plain.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await plain.text()).toContain("# TYPE tradewind_node_cpu_seconds_total counter");
    const open = await fetch(`${url}/metrics`, { headers: { accept: "application/openmetrics-text" } });
    expect(open.headers.get("content-type")).toContain("application/openmetrics-text; version=1.0.0");
    expect(await open.text()).toMatch(/# TYPE tradewind_node_cpu_seconds counter[\s\S]*# EOF\n$/);
  });

  test("is compressed for those who take gzip, and only for them", async () => {
    const raw = async (encoding: string): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        const chunks: Buffer[] = [];
        const socket = connect(Number(new URL(url).port), "127.0.0.1", () => {
          socket.write(`GET /metrics HTTP/1.0\r\nAccept-Encoding: ${encoding}\r\n\r\n`);
        });
        socket.on("data", (chunk) => chunks.push(chunk));
        socket.on("end", () => resolve(Buffer.concat(chunks)));
        socket.on("error", reject);
      });
    const body = (answer: Buffer): Buffer => answer.subarray(answer.indexOf("\r\n\r\n") + 4);
    expect(gunzipSync(body(await raw("deflate, gzip;q=1.0"))).toString()).toContain(
      "tradewind_node_cpu_cores 4",
    );
    expect(body(await raw("gzip;q=0, identity")).toString()).toContain("tradewind_node_cpu_cores 4");
  });

  test("answers HEAD without a body", async () => {
    const response = await fetch(`${url}/metrics`, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
  });
});

test("/openapi.json describes all that is served, and every answer is as it describes", async () => {
  expect(await describedAnswers(url, DESCRIBED)).toEqual(["/metrics", "/v1/snapshot", "/healthz", "/readyz"]);
});

describe("containers that come and go", () => {
  const id = "e".repeat(64);
  const folder = `cgroup${V2.containers[0]!.path.replace(/[^/]+$/, "")}cri-containerd-${id}.scope`;

  test("a new one is there, and a removed one gone, within two seconds", async () => {
    expect(await containerIds()).toHaveLength(2);
    tree.plant(v2Files(folder, { cpuSeconds: 1 }));
    await waitUntil(async () => (await containerIds()).includes(id), 2_000, "the new container");
    tree.remove(folder);
    await waitUntil(async () => !(await containerIds()).includes(id), 2_000, "the removed container");
    expect(await (await fetch(`${url}/metrics`)).text()).not.toContain(id);
  });

  test("so is the first pod of a class that had no slice yet", async () => {
    const first = `cgroup/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podffff.slice/cri-containerd-${id}.scope`;
    tree.plant(v2Files(first, { cpuSeconds: 1 }));
    await waitUntil(async () => (await containerIds()).includes(id), 2_000, "the new container");
  });

  test("so is everything under a root that was not there at the start", async () => {
    tree.remove("cgroup/kubepods.slice");
    await waitUntil(async () => (await containerIds()).length === 0, 2_000, "no containers");
    tree.plant(
      v2Files(`cgroup/kubepods.slice/kubepods-podffff.slice/cri-containerd-${id}.scope`, { cpuSeconds: 1 }),
    );
    await waitUntil(async () => (await containerIds()).includes(id), 2_500, "the new container");
  });
});

describe("a reader that misbehaves", () => {
  test("gets 400 for what is no HTTP, and nobody else notices", async () => {
    const answer = await new Promise<string>((resolve) => {
      let text = "";
      const socket = connect(Number(new URL(url).port), "127.0.0.1", () =>
        socket.write("\0\0nonsense\r\n\r\n"),
      );
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
      });
      socket.on("close", () => resolve(text));
      socket.on("error", () => resolve(text));
    });
    expect(answer).toContain("400 Bad Request");
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test("gets 431 for headers without end", async () => {
    const response = await fetch(`${url}/metrics`, { headers: { "x-long": "x".repeat(20_000) } });
    expect([400, 431]).toContain(response.status);
  });

  test("that leaves in the middle of an answer does no harm", async () => {
    for (let reader = 0; reader < 20; reader += 1) {
      const abort = new AbortController();
      const asked = fetch(`${url}/metrics`, { signal: abort.signal });
      abort.abort();
      await asked.catch(() => undefined);
    }
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });
});

test("stopping twice is stopping once, and the port is free then", async () => {
  await Promise.all([agent.stop(), agent.stop()]);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow("fetch failed");
});

describe("fresher figures", () => {
  const heard = async (tokenFile: string | undefined, authorization: string | undefined) => {
    const asked: unknown[] = [];
    const parts = { monotonicMs: () => performance.now(), log: createLog("test", "silent") };
    const door = new HttpDoor({ tokenFile, ...parts });
    const byToken = tokenFile !== undefined;
    const work = new SenderWork({ maxSenderWork: 1, byToken, onRefused: () => undefined, ...parts });
    const exposed = {
      metrics: () => [],
      snapshot: () => ["{}"],
      notReady: () => undefined,
      hasten: (pods: unknown) => asked.push(pods),
    };
    const side = new HttpSide(exposed, door, work, undefined);
    onTestFinished(async () => side.close());
    const address = await side.listen({ host: "127.0.0.1", port: 0 });
    const headers = authorization === undefined ? {} : { authorization };
    await fetch(`${address}/v1/snapshot?fresh=pod-1:2`, { headers });
    return asked;
  };
  const tokens = (): string => {
    const file = tree.path("tokens");
    writeFileSync(file, "a-token-for-readers-of-snapshots\n");
    return file;
  };

  test("are given to a reader with a token", async () => {
    expect(await heard(tokens(), "Bearer a-token-for-readers-of-snapshots")).toEqual([
      new Map([["pod-1", 2]]),
    ]);
  });

  test("are given to no stranger: without the token, and where none is asked for", async () => {
    expect(await heard(tokens(), "Bearer another-token-that-is-long-enough")).toEqual([]);
    expect(await heard(undefined, undefined)).toEqual([]);
    expect(await heard(undefined, "Bearer a-token-for-readers-of-snapshots")).toEqual([]);
  });
});
