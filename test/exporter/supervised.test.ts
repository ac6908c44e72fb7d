import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { launchExporter } from "./exporter-process.ts";
import type { ExporterProcess } from "./exporter-process.ts";
import { fakePredictor } from "./fake-predictor.ts";
import { until } from "./until.ts";
import { planOf, wishOf } from "./wish.ts";

const SUPERVISE = fileURLToPath(new URL("../../core/process/supervise.ts", import.meta.url));
const SUPERVISED = [process.execPath, SUPERVISE];
/** Makes what follows process 1 of a PID namespace, as the first process of a container is. */
const IN_CONTAINER = ["unshare", "--pid", "--fork", "--kill-child"];
const HUNG = 128 + 9;
const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);

/** The process without children of its own: the exporter behind `unshare`, the supervisor or both. */
function exporterPid(pid: number): number {
  const [child] = childrenOf(pid);
  return child === undefined ? pid : exporterPid(child);
}

const isRunning = (pid: number): boolean => /^State:\s[^ZX]/m.test(statusOf(pid));
const statusOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
};

interface Supervised extends ExporterProcess {
  /** Of the exporter itself. */
  readonly pid: number;
  readonly exited: Promise<number | null>;
}

/** An exporter with a decision. @param module loaded into it first */
async function started(before: readonly string[], module = "", ...flags: string[]): Promise<Supervised> {
  const state = await mkdtemp(join(tmpdir(), "tradewind-supervised-"));
  const predictor = await fakePredictor(planOf([wishOf()]));
  onTestFinished(async () => {
    await predictor.stop();
    await rm(state, { recursive: true, force: true });
  });
  const url = new URL(`serve/keda/${module}`, import.meta.url).href;
  const preloaded = module === "" ? before : [...before, `--import=${url}`];
  const made = await launchExporter({ before: preloaded }, predictor, state, "--watchdog", "1s", ...flags);
  const exited = once(made.child, "exit").then(([code]) => code as number | null);
  await until("a decision", async () => (await made.list()).recommendations[0]);
  const pid = exporterPid(made.child.pid!);
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
  return { ...made, pid, exited };
}

const HANGS = [
  ["whose main thread is in an endless loop", "hang-main-child.ts", "thread main"],
  ["whose main thread is blocked", "block-main-child.ts", "thread main"],
  ["whose thread for KEDA is in an endless loop", "hang-scaler-child.ts", "thread grpc"],
] as const;

describe.skipIf(process.platform !== "linux")("an exporter under its supervisor", { timeout: 60_000 }, () => {
  it("that is stopped as a whole is ended with exit code 137 and a line in the log; without one it stays stopped", async () => {
    const [watched, alone] = await Promise.all([started(SUPERVISED), started([process.execPath])]);
    for (const { pid } of [watched, alone]) process.kill(pid, "SIGSTOP");
    expect(await watched.exited).toBe(HUNG);
    expect(watched.log()).toContain("the process has not run for");
    expect(isRunning(watched.pid)).toBe(false);
    expect(statusOf(alone.pid)).toMatch(/^State:\sT/m);
    await expect(watched.client.metrics(ref, "m")).rejects.toMatchObject({ code: 14 });
  });

  it("goes on after both were stopped together for longer than a hang, as on a laptop that sleeps", async () => {
    const { child, client, exited, log, pid } = await started(SUPERVISED, "", "--watchdog", "2s");
    for (const each of [child.pid!, pid]) process.kill(each, "SIGSTOP");
    const stoppedMs = performance.now();
    await until("a long stop", () => performance.now() - stoppedMs > 4_000);
    for (const each of [child.pid!, pid]) process.kill(each, "SIGCONT");
    const wokenMs = performance.now();
    await until("a time in which a hang is found", () => performance.now() - wokenMs > 3_000);
    expect(log()).not.toContain("has not run");
    expect(await client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    process.kill(child.pid!, "SIGTERM");
    expect(await exited).toBe(0);
  });

  it("that is not to be watched stays stopped", async () => {
    const { pid, child } = await started(SUPERVISED, "", "--watchdog", "0");
    process.kill(pid, "SIGSTOP");
    const stoppedMs = performance.now();
    await until("a time in which a hang is found", () => performance.now() - stoppedMs > 2_500);
    expect(statusOf(pid)).toMatch(/^State:\sT/m);
    expect(child.exitCode).toBeNull();
  });

  it("ends with it", async () => {
    const { child, pid } = await started(SUPERVISED);
    child.kill("SIGKILL");
    await until("its end", () => !isRunning(pid));
  });

  it("is killed: the supervisor says by what, and ends as a shell would", async () => {
    const { exited, log, pid } = await started(SUPERVISED);
    process.kill(pid, "SIGKILL");
    expect(await exited).toBe(HUNG);
    expect(log()).toContain("ended by SIGKILL; exit code 137");
  });

  it("cannot start: its own message and exit code come back", () => {
    const script = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
    const { status, stderr } = spawnSync(
      process.execPath,
      [SUPERVISE, script, "exporter", "--watchdog", "nonsense"],
      { encoding: "utf8" },
    );
    expect(status).toBe(2);
    expect(stderr).toContain("watchdog");
  });
});

const mayUnshare = spawnSync("unshare", [...IN_CONTAINER.slice(1), "true"]).status === 0;

describe.skipIf(!mayUnshare)(
  "an exporter in a container, where nobody may kill process 1",
  { timeout: 60_000 },
  () => {
    it.each(HANGS)("%s ends as process 2 and not as process 1", async (_what, module, thread) => {
      const [watched, alone] = await Promise.all([
        started([...IN_CONTAINER, ...SUPERVISED], module),
        started([...IN_CONTAINER, process.execPath], module),
      ]);
      for (const { pid } of [watched, alone]) process.kill(pid, "SIGUSR2");
      expect(await watched.exited).toBe(HUNG);
      expect(watched.log()).toContain(`${thread} has not run for`);
      await until("the other's last words", () => alone.log().includes(`${thread} has not run for`));
      expect(isRunning(alone.pid)).toBe(true);
    });

    it("is ended when it is stopped as a whole, and stops within its grace when it is asked to", async () => {
      const [stopped, asked] = await Promise.all([
        started([...IN_CONTAINER, ...SUPERVISED]),
        started([...IN_CONTAINER, ...SUPERVISED]),
      ]);
      process.kill(stopped.pid, "SIGSTOP");
      process.kill(childrenOf(asked.child.pid!)[0]!, "SIGTERM");
      expect(await stopped.exited).toBe(HUNG);
      expect(await asked.exited).toBe(0);
    });
  },
);
