import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { hog } from "@tradewind/local/interference/programs.ts";
import { startNoise } from "@tradewind/local/interference/interference.ts";
import { isAlive, RUNS_DIRECTORY } from "@tradewind/local/supervise/run-directory.ts";
import { installed } from "../../installed.ts";
import { waitUntil } from "../../wait-until.ts";

const MAIN = join(import.meta.dirname, "..", "..", "..", "cli", "main.ts");
const tools = ["built-in", ...(installed("stress-ng") === undefined ? [] : ["auto"])];
const running: ChildProcess[] = [];
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

function tradewindInject(...args: readonly string[]): { child: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, [MAIN, "inject", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  running.push(child);
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  return { child, output: () => text };
}

function registered(pid: number): number[] {
  const path = join(RUNS_DIRECTORY, String(pid), "processes.json");
  if (!existsSync(path)) return [];
  return (JSON.parse(readFileSync(path, "utf8")) as { processes: { pid: number }[] }).processes.map(
    (each) => each.pid,
  );
}

/** Processes whose parent, or its parent, is one of these; workers of stress-ng among them. */
function withDescendants(pids: readonly number[]): number[] {
  const found = new Set(pids);
  for (let generation = 0; generation < 3; generation += 1) {
    for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
        const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        if (found.has(Number(parent))) found.add(Number(entry));
      } catch {
        // It has ended.
      }
    }
  }
  return [...found];
}

describe("tradewind inject", { timeout: 30_000 }, () => {
  it("runs for its time and leaves nothing behind", async () => {
    const { child, output } = tradewindInject("--resource", "network", "--intensity", "0.3", "--for", "1s");
    const [code] = (await once(child, "close")) as [number];
    expect({ code, output: output() }).toMatchObject({ code: 0 });
    expect(output()).toContain("takes 3.0 Gbit/s over loopback for 1 s");
    expect(output()).toContain("nothing is left running");
    expect(existsSync(join(RUNS_DIRECTORY, String(child.pid)))).toBe(false);
  });

  it.each(tools)("leaves no process when it is killed with kill -9 (%s)", async (tool) => {
    const { child } = tradewindInject(
      "--resource",
      "cpu",
      "--intensity",
      "0.3",
      "--for",
      "60s",
      "--tool",
      tool,
    );
    await waitUntil(() => registered(child.pid!).length === 2, 10_000, "keeper and program run");
    const all = withDescendants(registered(child.pid!));
    expect(all.every((pid) => isAlive(pid))).toBe(true);
    child.kill("SIGKILL");
    await once(child, "exit");
    await waitUntil(() => all.every((pid) => !isAlive(pid)), 5_000, "all of them have ended by themselves");
  });

  it("stops at once on Ctrl-C", async () => {
    const { child, output } = tradewindInject(
      "--resource",
      "bandwidth",
      "--intensity",
      "0.3",
      "--for",
      "60s",
    );
    await waitUntil(() => registered(child.pid!).length === 2, 10_000, "keeper and program run");
    const all = withDescendants(registered(child.pid!));
    child.kill("SIGINT");
    const [code] = (await once(child, "close")) as [number];
    expect({ code, output: output() }).toMatchObject({ code: 130 });
    await waitUntil(() => !all.some(isAlive), 5_000, "all of them have ended");
  });

  it("says what it does not take", async () => {
    const { child, output } = tradewindInject("--resource", "cpu", "--intensity", "0.9");
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(2);
    expect(output()).toContain("--intensity must be between 0.3 and 0.8, not 0.9");
  });
});

describe("a keeper", () => {
  it("that is killed itself leaves no program running", async () => {
    const pids: number[] = [];
    const noise = startNoise(hog({ kind: "cpu", seconds: 60, duty: 0.1 }), 60, (pid) => pids.push(pid));
    await noise.ready;
    expect(pids).toHaveLength(2);
    process.kill(pids[0]!, "SIGKILL");
    await noise.ended;
    await waitUntil(() => !isAlive(pids[1]!), 5_000, "the hog has ended");
  });

  it("tells why a program failed", async () => {
    const noise = startNoise(
      { source: "nothing", programs: [{ file: "/nowhere/program", args: [], isNode: false }] },
      60,
    );
    await expect(noise.ended).rejects.toThrow("the interference failed: /nowhere/program");
  });

  it.each([
    { kind: "memory", seconds: 60, bytes: 8 * 2 ** 20, leaveBytes: 0 },
    { kind: "network", seconds: 60, bytesPerSecond: 1e6 },
    { kind: "bandwidth", seconds: 60, duty: 0.1 },
  ] as const)("runs the built-in hog for $kind until it is stopped", async (order) => {
    const pids: number[] = [];
    const noise = startNoise(hog(order), 60, (pid) => pids.push(pid));
    await noise.ready;
    expect(pids.every(isAlive)).toBe(true);
    await noise.stop();
    await waitUntil(() => !pids.some(isAlive), 5_000, "all of it has ended");
  });
});
