import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { InterferenceName } from "@tradewind/core/contract/interference.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startAgent } from "@tradewind/agent/agent.ts";
import { AgentOptions } from "@tradewind/agent/options.ts";
import { installed } from "../installed.ts";
import { freePort } from "../free-port.ts";
import { waitUntil } from "../wait-until.ts";

const stressNg = installed("stress-ng");
const iperf3 = installed("iperf3");
/** Loopback counts as a link of this speed here, so that a network hog needs no other machine. */
const LOOPBACK_BYTES_PER_SECOND = 125e6;
/** Longest that a hog runs: it ends with its test, and a busy machine is slow to let it rise alone. */
const HOG_SECONDS = 30;

let agent: Running;
const hogs: ChildProcess[] = [];

beforeAll(async () => {
  agent = await startAgent(
    AgentOptions.parse({
      listen: "127.0.0.1:0",
      inventory: false,
      kubernetes: "off",
      logLevel: "silent",
      linkBytesPerSecond: { lo: LOOPBACK_BYTES_PER_SECOND },
    }),
  );
  await waitUntil(async () => (await vector()).network !== undefined);
});
afterAll(async () => agent.stop());
afterEach(async () => {
  await Promise.all(
    hogs.splice(0).map(
      async (hog) =>
        new Promise<void>((resolve) => {
          if (hog.exitCode !== null || hog.signalCode !== null) resolve();
          hog.once("exit", () => resolve());
          hog.kill("SIGTERM");
        }),
    ),
  );
});

function start(program: string, args: readonly string[]): void {
  hogs.push(spawn(program, args, { stdio: "ignore" }));
}

/** The node's interference now; a component without a value is left out. */
async function vector(): Promise<Partial<Record<InterferenceName, number>>> {
  const response = await fetch(`${agent.addresses["http"]}/v1/snapshot`);
  if (!response.ok) return {};
  const { interference } = Snapshot.parse(await response.json());
  const told = Object.entries(interference).filter(([, { value }]) => value !== undefined);
  return Object.fromEntries(told.map(([name, { value }]) => [name, value]));
}

async function memoryUsedRatio(): Promise<number> {
  const response = await fetch(`${agent.addresses["http"]}/v1/snapshot`);
  return Snapshot.parse(await response.json()).signals["memory.usedRatio"]?.value ?? Number.NaN;
}

/**
 * Waits for a moment in which a component is above a level while the others are below theirs: what else runs on the machine
 * may move those for a while.
 */
async function risesAlone(
  name: InterferenceName,
  level: number,
  below: Partial<Record<InterferenceName, number>>,
): Promise<void> {
  await waitUntil(
    async () => {
      const seen = await vector();
      const others = Object.entries(below) as [InterferenceName, number][];
      return (seen[name] ?? 0) > level && others.every(([other, most]) => (seen[other] ?? 0) < most);
    },
    HOG_SECONDS * 1e3,
    `${name} above ${level} with ${JSON.stringify(below)}`,
  );
}

/** What else runs on the machine may hold another component high for longer than a hog runs: it is tried again. */
const BESIDE_OTHERS = { retry: 2, timeout: 3 * HOG_SECONDS * 1e3 };

describe.skipIf(stressNg === undefined)(
  "a real hog raises its own component and leaves unrelated ones low",
  () => {
    test("CPU", BESIDE_OTHERS, async () => {
      start(stressNg!, ["--cpu", "0", "--timeout", `${HOG_SECONDS}s`]);
      await risesAlone("cpu", 0.8, { memoryCapacity: 0.5, network: 0.3 });
    });

    test("memory", BESIDE_OTHERS, async () => {
      const used = await memoryUsedRatio();
      start(stressNg!, [
        "--vm",
        "1",
        "--vm-bytes",
        "15%",
        "--vm-keep",
        "--vm-populate",
        "--timeout",
        `${HOG_SECONDS}s`,
      ]);
      await waitUntil(
        async () => (await memoryUsedRatio()) > used + 0.06,
        HOG_SECONDS * 1e3,
        "memory in use",
      );
      await risesAlone("memoryCapacity", used + 0.06, { network: 0.3 });
    });
  },
);

describe.skipIf(iperf3 === undefined)("a real network hog", () => {
  test("raises the network component and leaves memory low", BESIDE_OTHERS, async () => {
    const port = await freePort();
    start(iperf3!, ["--server", "--one-off", "--bind", "127.0.0.1", "--port", `${port}`]);
    await waitUntil(async () => accepts(port));
    const used = await memoryUsedRatio();
    const rate = `${(LOOPBACK_BYTES_PER_SECOND * 8 * 0.6) / 1e6}M`;
    const args = [
      "--client",
      "127.0.0.1",
      "--port",
      `${port}`,
      "--time",
      `${HOG_SECONDS}`,
      "--bitrate",
      rate,
    ];
    start(iperf3!, args);
    await risesAlone("network", 0.3, {});
    expect(await memoryUsedRatio()).toBeLessThan(used + 0.1);
  });
});

/** Whether something listens: a connection would use up the one-off server, so the node's own table is asked. */
async function accepts(port: number): Promise<boolean> {
  const { readFile } = await import("node:fs/promises");
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return (await readFile("/proc/net/tcp", "latin1")).includes(`0100007F:${hex} 00000000:0000 0A`);
}
