import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { afterEach, describe, expect, test } from "vitest";
import { configure } from "@tradewind/agent/command.ts";
import { AgentOptions } from "@tradewind/agent/options.ts";
import { Tree } from "./tree/plant.ts";
import { situation, V2 } from "./tree/situation.ts";

const MAIN = join(dirname(dirname(import.meta.dirname)), "cli", "main.ts");
const children: ChildProcess[] = [];
let tree: Tree | undefined;
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  tree?.[Symbol.dispose]();
  tree = undefined;
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(args: readonly string[]): { child: ChildProcess; line: Promise<string>; end: Promise<Ended> } {
  const child = spawn(process.execPath, [MAIN, "agent", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let out = "";
  let err = "";
  child.stderr?.on("data", (data: Buffer) => {
    err += data.toString();
  });
  const line = new Promise<string>((resolve) => {
    child.stdout?.on("data", (data: Buffer) => {
      out += data.toString();
      if (out.includes("\n")) resolve(out.slice(0, out.indexOf("\n")));
    });
  });
  const end = new Promise<Ended>((resolve) => {
    child.once("close", (code) => resolve({ code, out, err }));
  });
  return { child, line, end };
}

describe("tradewind agent", () => {
  test("says where it listens in one line, serves, and ends with 0 on SIGTERM", async () => {
    tree = new Tree().plant(situation(V2, {}, {}));
    const roots = ["procfs", "sysfs", "cgroupfs"].flatMap((root, at) => [
      `--path.${root}`,
      tree!.path(["proc", "sys", "cgroup"][at]!),
    ]);
    const args = ["--listen", "127.0.0.1:0", "--node", "node-a", "--no-inventory", "--kubernetes", "off"];
    const { child, line, end } = start([...args, ...roots]);
    const ready = JSON.parse(await line) as { process: string; ready: boolean; addresses: { http: string } };
    expect(ready).toMatchObject({ process: "agent", ready: true });
    const snapshot = (await (await fetch(`${ready.addresses.http}/v1/snapshot`)).json()) as {
      containers: unknown[];
    };
    expect(snapshot.containers).toHaveLength(2);
    child.kill("SIGTERM");
    const { code, out } = await end;
    expect(code).toBe(0);
    expect(out.trim().split("\n")).toHaveLength(1);
  });

  test.each([
    [["--listen", "nowhere"], "host:port"],
    [["--path.procfs", "relative"], "absolute path"],
    [["--link-speed", "eth0"], "INTERFACE=BYTES_PER_SECOND"],
    [["--link-speed", "eth0=fast"], "must be a number"],
    [["--log-level", "loud"], "Allowed choices"],
    [["--http-tls-cert", "tls.crt"], "give --http-tls-cert and --http-tls-key together"],
    [["--unknown"], "unknown option"],
  ])("%j is refused with what to write", async (args, message) => {
    const { code, err } = await start(args).end;
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test("a port that is taken is an error that says what to do", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve());
    });
    const { port } = server.address() as AddressInfo;
    try {
      const { code, err } = await start(["--listen", `127.0.0.1:${port}`, "--kubernetes", "off"]).end;
      expect(code).toBe(1);
      expect(err).toContain("choose another with --listen");
    } finally {
      server.close();
    }
  });
});

test("without flags the command line asks for what the schema's defaults are", async () => {
  const command = new Command("agent");
  configure(command);
  const flags = command.parseOptions([]).unknown;
  expect(flags).toEqual([]);
  const options = command.opts<Record<string, unknown>>();
  expect(options).toMatchObject({
    listen: AgentOptions.parse({}).listen,
    node: AgentOptions.parse({}).node,
    "path.procfs": AgentOptions.parse({}).procfs,
    "path.sysfs": AgentOptions.parse({}).sysfs,
    "path.cgroupfs": AgentOptions.parse({}).cgroupfs,
    cgroupRoot: AgentOptions.parse({}).cgroupRoots,
    kubernetes: AgentOptions.parse({}).kubernetes,
    linkSpeed: AgentOptions.parse({}).linkBytesPerSecond,
    inventory: AgentOptions.parse({}).inventory,
    window: AgentOptions.parse({}).windowSeconds,
    costBudget: AgentOptions.parse({}).costBudgetRatio,
    maxOpenFiles: AgentOptions.parse({}).maxOpenFiles,
    logLevel: AgentOptions.parse({}).logLevel,
  });
});
