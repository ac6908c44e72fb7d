import { createServer } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBalancer } from "@tradewind/local/application/balance.ts";
import type { Balancer } from "@tradewind/local/application/balance.ts";
import { createHttpClient } from "@tradewind/local/application/call.ts";
import type { HttpClient } from "@tradewind/local/application/call.ts";
import { createFleet } from "@tradewind/local/application/fleet.ts";
import type { Fleet } from "@tradewind/local/application/fleet.ts";
import { carryOut } from "@tradewind/local/fault/carry-out.ts";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import type { Topology } from "@tradewind/local/application/topology.ts";
import { chooseQuota } from "@tradewind/local/quota/choose.ts";
import { workloadListOf } from "@tradewind/local/supervise/workloads.ts";
import { isAlive } from "@tradewind/local/supervise/run-directory.ts";
import { waitUntil } from "../../wait-until.ts";

/** Two services of the application: an entry and what it calls. */
const SMALL: Topology = {
  ...HOTEL,
  services: HOTEL.services.filter(({ name }) => name === "frontend" || name === "user"),
};
/** Slow enough that a test's requests are never what takes time. */
const CALIBRATION = { spinsPerMilli: 1_000, touchesPerMilli: 1_000 };

let directory: string;
let fleet: Fleet;
let entry: Balancer;
let client: HttpClient;
let pids: number[];
let troubles: string[];
let exports: { path: string; bytes: number; type: string }[];
let receiver: ReturnType<typeof createServer>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-test-fleet-"));
  entry = createBalancer();
  client = createHttpClient();
  pids = [];
  troubles = [];
  exports = [];
  receiver = createServer((request, response) => {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on("end", () => {
      exports.push({ path: request.url ?? "", bytes, type: request.headers["content-type"] ?? "" });
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  fleet = createFleet({
    topology: SMALL,
    calibration: CALIBRATION,
    quota: await chooseQuota({ cgroupRoot: "/nowhere", pid: process.pid, wanted: "emulated" }),
    tracesUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/v1/traces`,
    compileCache: join(directory, "cache"),
    nowMs: () => Date.now(),
    entryBalancer: entry,
    onChange: () => undefined,
    onTrouble: (text) => troubles.push(text),
    onSpawn: (pid) => pids.push(pid),
  });
});
afterEach(async () => {
  await fleet.stop();
  client.close();
  receiver.close().closeAllConnections();
  await rm(directory, { recursive: true, force: true });
});

async function ask(route: string): Promise<number> {
  const endpoint = entry.acquire()!;
  try {
    return await client.send({ endpoint, route, headers: {}, signal: AbortSignal.timeout(5_000) });
  } finally {
    entry.release(endpoint);
  }
}
const readyOf = (service: string) =>
  fleet.states().find(({ definition }) => definition.name === service)!.ready;

describe("a fleet of real replicas", { timeout: 40_000 }, () => {
  it("serves requests through several services, sends their spans by OTLP, and is gone when stopped", async () => {
    fleet.scale("frontend", 1);
    fleet.scale("user", 1);
    await fleet.settled(AbortSignal.timeout(20_000));
    await waitUntil(
      async () => (await ask("POST /user")) === 200,
      10_000,
      "the callee's endpoint has arrived",
    );
    expect(await ask("GET /nothing")).toBe(404);
    // No replica of `search`: the entry says so instead of hanging.
    expect(await ask("GET /hotels")).toBe(502);
    await waitUntil(() => exports.length >= 2, 10_000, "both replicas have exported");
    expect(exports[0]).toMatchObject({ path: "/v1/traces", type: "application/x-protobuf" });
    expect(exports[0]!.bytes).toBeGreaterThan(100);
    await waitUntil(() => fleet.cpuSeconds() > 0, 10_000, "replicas report their CPU time");
    await fleet.stop();
    expect(pids.filter(isAlive)).toEqual([]);
    expect(troubles).toEqual([]);
  });

  it("answers late, badly or from another version while something is wrong with a service, and as before once it is not", async () => {
    fleet.scale("frontend", 1);
    fleet.scale("user", 1);
    await fleet.settled(AbortSignal.timeout(20_000));
    await waitUntil(async () => (await ask("POST /user")) === 200, 10_000);
    const [first] = readyOf("user");

    const clear = await carryOut({ service: "user", kind: "errors" }, fleet);
    // Requests without a number count as those that fail.
    await waitUntil(async () => (await ask("POST /user")) === 502, 10_000, "the callee fails");
    await clear();
    await waitUntil(async () => (await ask("POST /user")) === 200, 10_000, "the callee is well again");

    const late = await carryOut({ service: "user", kind: "dependency" }, fleet);
    await waitUntil(async () => {
      const beganMs = performance.now();
      await ask("POST /user");
      return performance.now() - beganMs >= 250;
    }, 10_000);
    await late();

    const rollBack = await carryOut({ service: "user", kind: "deploy" }, fleet);
    expect(readyOf("user").map(({ identity }) => identity.version)).toEqual([2]);
    expect(readyOf("user")[0]!.pid).not.toBe(first!.pid);
    const list = workloadListOf(fleet.states(), "node", Date.now()).workloads;
    expect(list.find(({ service }) => service === "user")).toMatchObject({
      revision: "2",
      pods: [{ revision: "2" }],
    });
    await rollBack();
    await waitUntil(async () => (await ask("POST /user")) === 200, 10_000);

    const before = fleet.states().find(({ definition }) => definition.name === "user")!.size;
    const unlimit = await carryOut({ service: "user", kind: "limit" }, fleet);
    expect(readyOf("user")[0]!.limits.cpuCores).toBeCloseTo(before.cpuCores / 4);
    await unlimit();
    expect(readyOf("user")[0]!.limits).toEqual(before);
    expect(troubles).toEqual([]);
  });

  it("loses no request while it grows and shrinks under load", async () => {
    fleet.scale("frontend", 1);
    fleet.scale("user", 1);
    await fleet.settled(AbortSignal.timeout(20_000));
    await waitUntil(async () => (await ask("POST /user")) === 200, 10_000);
    const statuses: number[] = [];
    const over = new AbortController();
    const asking = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) statuses.push(await ask("POST /user").catch(() => 0));
    });
    fleet.scale("user", 2);
    await fleet.settled(AbortSignal.timeout(20_000));
    const [oldest] = readyOf("user");
    fleet.scale("user", 1);
    await waitUntil(() => pids.filter(isAlive).length === 2, 15_000, "one replica has left");
    over.abort();
    await Promise.all(asking);
    expect(statuses.length).toBeGreaterThan(10);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    // The youngest goes first.
    expect(readyOf("user")).toEqual([oldest]);
  });

  it("resizes running replicas in place, later ones from their start, and says so in the workloads", async () => {
    fleet.scale("user", 1);
    await fleet.settled(AbortSignal.timeout(20_000));
    const [first] = readyOf("user");
    await waitUntil(() => first!.usage().residentBytes > 0, 10_000, "it says what is resident");
    const { residentBytes } = first!.usage();
    await fleet.resize("user", { cpuCores: 0.3, memoryBytes: 1 });
    expect(first!.limits.cpuCores).toBe(0.3);
    expect(first!.limits.memoryBytes).toBeGreaterThan(residentBytes);
    await fleet.resize("user", { cpuCores: 0.3, memoryBytes: 2 ** 29 });
    fleet.scale("user", 2);
    await fleet.settled(AbortSignal.timeout(20_000));
    const containers = workloadListOf(fleet.states(), "node", 0).workloads.flatMap(({ pods }) =>
      pods.flatMap((pod) => pod.containers),
    );
    expect(containers).toHaveLength(2);
    for (const container of containers) {
      expect(container).toMatchObject({
        cpuRequestCores: 0.3,
        cpuLimitCores: 0.3,
        memoryLimitBytes: 2 ** 29,
      });
    }
    expect(readyOf("user")[0]!.pid).toBe(first!.pid);
    expect(troubles).toEqual([]);
  });

  it("replaces a replica that dies", async () => {
    fleet.scale("user", 1);
    await fleet.settled(AbortSignal.timeout(20_000));
    const [victim] = readyOf("user");
    process.kill(victim!.pid, "SIGKILL");
    await waitUntil(
      () => (readyOf("user")[0]?.pid ?? victim!.pid) !== victim!.pid,
      15_000,
      "a new one is ready",
    );
    expect(troubles[0]).toContain(`${victim!.identity.podName} exited by itself`);
  });
});
