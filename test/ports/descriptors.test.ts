import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { withinDescriptors } from "@tradewind/core/descriptors.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import { until } from "../exporter/until.ts";
import { WireClient } from "../exporter/keda/wire-client.ts";
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

describe.skipIf(process.platform !== "linux")("an exporter that may open 64 files", () => {
  it("answers KEDA and probes beside 200 idle connections", async () => {
    const predictor = await fakePredictor(planOf([wishOf()]));
    onTestFinished(async () => predictor.stop());
    const flags = ["--listen", "--grpc-listen", "--probe-listen"].flatMap((flag) => [flag, "127.0.0.1:0"]);
    const child = spawn(
      "sh",
      [
        "-c",
        'ulimit -n 64; exec "$0" "$@"',
        process.execPath,
        script,
        "exporter",
        ...flags,
        "--predictor",
        predictor.url,
      ],
      { stdio: ["ignore", "pipe", "ignore"] },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const { addresses } = JSON.parse(line) as { addresses: Record<"http" | "grpc" | "probe", string> };
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
