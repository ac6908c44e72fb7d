import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { withinDescriptors } from "@tradewind/core/net/descriptors.ts";
import { situation } from "../agent/tree/situation.ts";
import { Tree } from "../agent/tree/plant.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import { until } from "../exporter/until.ts";
import { WireClient } from "../exporter/serve/keda/wire-client.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { ask } from "./idle.ts";

const script = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const LIMITS = { maxConnections: 500, maxPerAddress: 200, firstRequestMs: 1 };

describe("the connections of a port", () => {
  it.each([
    { free: 1_000_000, maxConnections: 500, maxPerAddress: 200 },
    { free: 800, maxConnections: 200, maxPerAddress: 199 },
    { free: 33, maxConnections: 8, maxPerAddress: 7 },
    { free: 0, maxConnections: 4, maxPerAddress: 3 },
  ])("are at most $maxConnections where $free files may be opened", ({ free, ...expected }) => {
    expect(withinDescriptors(LIMITS, free)).toEqual({ ...LIMITS, ...expected });
  });

  it("stay as few as they were meant to be", () => {
    const few = { ...LIMITS, maxConnections: 2, maxPerAddress: 2 };
    expect(withinDescriptors(few, 0)).toEqual(few);
    expect(withinDescriptors(few, 1_000_000)).toEqual(few);
  });
});

/** A command in a process that may open few files. */
async function startWith(
  mostFiles: number,
  command: readonly string[],
): Promise<{ child: ChildProcess; addresses: Record<"http" | "grpc" | "probe", string> }> {
  const child = spawn(
    "sh",
    ["-c", `ulimit -n ${mostFiles}; exec "$0" "$@"`, process.execPath, script, ...command],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, ...(JSON.parse(line) as { addresses: Record<"http" | "grpc" | "probe", string> }) };
}

describe.skipIf(process.platform !== "linux")("an agent that may open 128 files", () => {
  it("answers, and reads all of the 600 files of its node", async () => {
    const tree = new Tree();
    onTestFinished(() => tree[Symbol.dispose]());
    const containers = Array.from({ length: 50 }, (_, at) => ({
      path: `/kubepods/pod${at}/${at.toString(16).padStart(64, "0")}`,
      id: at.toString(16).padStart(64, "0"),
      podUid: `${at}`,
    }));
    tree.plant(situation({ name: "many", mode: "v2", containers }, {}, {}));
    const paths = { procfs: "proc", sysfs: "sys", cgroupfs: "cgroup" };
    const flags = Object.entries(paths).flatMap(([name, path]) => [`--path.${name}`, tree.path(path)]);
    const { child, addresses } = await startWith(128, [
      "agent",
      "--listen",
      "127.0.0.1:0",
      "--no-inventory",
      ...flags,
    ]);
    const held = (): number => readdirSync(`/proc/${child.pid}/fd`).length;
    await until("an agent that is ready", async () => (await ask(`${addresses.http}/readyz`)).status === 200);
    expect((await ask(`${addresses.http}/healthz`)).status).toBe(200);
    const { text } = await ask(`${addresses.http}/metrics`);
    expect(text.match(/^tradewind_container_io_pressure_waiting_seconds_total/gm)).toHaveLength(50);
    expect(text).toContain("\ntradewind_agent_container_read_failures_total 0\n");
    expect(held()).toBeLessThan(120);
  });
});

describe.skipIf(process.platform !== "linux")("an exporter that may open 64 files", () => {
  it("answers KEDA and probes beside 200 idle connections", async () => {
    const predictor = await fakePredictor(planOf([wishOf()]));
    onTestFinished(async () => predictor.stop());
    const flags = ["--listen", "--grpc-listen", "--probe-listen"].flatMap((flag) => [flag, "127.0.0.1:0"]);
    const { child, addresses } = await startWith(64, ["exporter", ...flags, "--predictor", predictor.url]);
    const sockets: Socket[] = [];
    for (const address of [new URL(addresses.http).host, addresses.grpc]) {
      const [, port] = address.split(":");
      for (let index = 0; index < 100; index += 1) {
        const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress: "127.0.0.2" });
        socket.on("error", () => undefined).resume();
        sockets.push(socket);
        onTestFinished(() => void socket.destroy());
      }
    }
    const held = (): number => readdirSync(`/proc/${child.pid}/fd`).length;
    await Promise.all(sockets.map(async (socket) => once(socket, "connect").catch(() => undefined)));
    expect(held()).toBeLessThan(62);
    const client = new WireClient(addresses.grpc);
    onTestFinished(() => client.close());
    const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
    await until("a number", async () => (await client.metrics(ref, "m"))[0]?.int === 5);
    expect((await ask(`${addresses.probe}/healthz`)).status).toBe(200);
    expect((await ask(`${addresses.http}/readyz`)).status).toBe(200);
  });
});
