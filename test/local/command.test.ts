import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { RUNS_DIRECTORY } from "@tradewind/local/supervise/run-directory.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { waitUntil } from "../wait-until.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "tradewind.mjs");

describe("tradewind local whose output nobody reads any more", () => {
  it("ends like an interrupted run, and leaves no run directory", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-test-command-"));
    onTestFinished(async () => rm(directory, { recursive: true, force: true }));
    const free = ["--ports", "free", "--quota", "emulated", "--interference", "none"];
    const child = spawn(process.execPath, [PROGRAM, "local", "--for", "150s", ...free], {
      env: { ...process.env, TMPDIR: directory },
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdout.destroy();
    const exited = once(child, "exit");
    const run = join(directory, basename(RUNS_DIRECTORY), String(child.pid));
    await waitUntil(() => existsSync(run) || child.exitCode !== null);
    expect(await exited).toEqual([130, null]);
    expect(existsSync(run)).toBe(false);
  }, 60_000);
});
