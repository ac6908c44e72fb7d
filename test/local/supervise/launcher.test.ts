import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAlive } from "@tradewind/local/supervise/run-directory.ts";
import { waitUntil } from "../../wait-until.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "..", "bin", "tradewind.mjs");

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-test-launcher-"));
});
afterEach(async () => rm(directory, { recursive: true, force: true }));

/** A copy of the launcher whose Node.js says that it is an old one, and whose command tells its process id and goes on. */
async function launched(): Promise<{ readonly launcher: ChildProcess; readonly pid: number }> {
  await mkdir(join(directory, "bin"));
  await mkdir(join(directory, "cli"));
  await mkdir(join(directory, "node_modules", "node", "bin"), { recursive: true });
  await copyFile(PROGRAM, join(directory, "bin", "tradewind.mjs"));
  await symlink(process.execPath, join(directory, "node_modules", "node", "bin", "node"));
  await writeFile(
    join(directory, "cli", "main.ts"),
    `process.once("disconnect", () => process.exit(0)); console.log(process.pid); setInterval(() => {}, 1000);`,
  );
  await writeFile(
    join(directory, "old.mjs"),
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });`,
  );
  const launcher = spawn(
    process.execPath,
    ["--import", join(directory, "old.mjs"), join(directory, "bin", "tradewind.mjs"), "local"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [said] = (await once(launcher.stdout, "data")) as [Buffer];
  return { launcher, pid: Number(said.toString()) };
}

describe("bin/tradewind.mjs on a Node.js that cannot strip types", () => {
  it("does not leave the pinned Node.js running when it is killed with kill -9", async () => {
    const { launcher, pid } = await launched();
    expect(pid).not.toBe(launcher.pid);
    expect(isAlive(pid)).toBe(true);
    launcher.kill("SIGKILL");
    await waitUntil(() => !isAlive(pid), 5_000, "the command has ended too");
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends with the code of an interrupted command on %s", async (signal, code) => {
    const { launcher } = await launched();
    const exited = once(launcher, "exit");
    launcher.kill(signal);
    expect(await exited).toEqual([code, null]);
  });
});
