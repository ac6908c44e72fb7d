import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAlive, openRunDirectory, sweepRuns } from "@tradewind/local/supervise/run-directory.ts";
import { waitUntil } from "../../wait-until.ts";

let runs: string;
beforeEach(async () => {
  runs = await mkdtemp(join(tmpdir(), "tradewind-test-runs-"));
});
afterEach(async () => {
  await rm(runs, { recursive: true, force: true });
});

/** A number that no process has. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  return child.pid!;
}

describe("openRunDirectory", () => {
  it("registers processes, and forgets those that are gone", async () => {
    const { path, register } = await openRunDirectory(runs);
    register.add("dead", await deadPid());
    register.add("self", process.pid);
    await register.flush();
    const list = JSON.parse(await readFile(join(path, "processes.json"), "utf8")) as {
      processes: { name: string }[];
    };
    expect(list.processes.map(({ name }) => name)).toContain("self");
    expect(register.running()).toEqual([{ name: "self", pid: process.pid }]);
  });
});

describe("sweepRuns", () => {
  it("ends what a dead platform left running and removes its directory", async () => {
    const child = fork("-", [], { execArgv: ["-e", "setInterval(() => {}, 1000)"] });
    const { path, register } = await openRunDirectory(runs);
    register.add("replica", child.pid!);
    await register.flush();
    const list = JSON.parse(await readFile(join(path, "processes.json"), "utf8")) as {
      owner: { pid: number };
    };
    const owner = await deadPid();
    list.owner.pid = owner;
    await mkdir(join(runs, String(owner)));
    await writeFile(join(runs, String(owner), "processes.json"), JSON.stringify(list));

    const exited = once(child, "exit");
    expect(await sweepRuns(runs)).toEqual([`cleaned up after platform ${owner}: 1 processes ended`]);
    await exited;
    await waitUntil(() => !isAlive(child.pid!));
    expect(await readdir(runs)).toEqual([String(process.pid)]);
  });

  it("leaves running platforms, foreign files and reused process numbers alone", async () => {
    await mkdir(join(runs, String(process.ppid)));
    await writeFile(join(runs, "note.txt"), "");
    const owner = await deadPid();
    await mkdir(join(runs, String(owner)));
    // The number is taken again, by this very process, which started at another time.
    const processes = [{ name: "replica", pid: process.pid, startTicks: "1" }];
    await writeFile(
      join(runs, String(owner), "processes.json"),
      JSON.stringify({ owner: { name: "local", pid: owner, startTicks: "1" }, processes }),
    );
    expect(await sweepRuns(runs)).toEqual([`cleaned up after platform ${owner}: 0 processes ended`]);
    expect(existsSync(join(runs, String(process.ppid)))).toBe(true);
    expect(existsSync(join(runs, "note.txt"))).toBe(true);
  });

  it("removes a directory whose register was never written or is no JSON", async () => {
    for (const text of ["", "{"]) {
      const owner = await deadPid();
      await mkdir(join(runs, String(owner)));
      await writeFile(join(runs, String(owner), "processes.json"), text);
      expect(await sweepRuns(runs)).toHaveLength(1);
      expect(existsSync(join(runs, String(owner)))).toBe(false);
    }
  });

  it("has nothing to do where nothing ever ran", async () => {
    expect(await sweepRuns(join(runs, "nowhere"))).toEqual([]);
  });
});
