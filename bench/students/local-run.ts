import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseJsonWith } from "@tradewind/core/config.ts";
import { RunReport } from "@tradewind/core/contract/run-report.ts";

const ROOT = dirname(dirname(import.meta.dirname));
/** The platform gives a predictor up that has failed to start for 150 s; after the kill there is less left. */
const SECONDS = 210;
/** The load rises then, as a share of the run (local/phases). */
const SURGE_BEGINS = 45 / 150;

export interface LocalOutcome {
  readonly silence: "hold" | "students";
  readonly seed: number;
  /** From the kill to the end of the run. */
  readonly requests: number;
  readonly requestsOver: number;
  readonly cores: number;
}

/** One run of the local platform whose predictor is killed for good as the surge begins. Real processes. */
export async function localRun(silence: LocalOutcome["silence"], seed: number): Promise<LocalOutcome> {
  const scratch = mkdtempSync(join(tmpdir(), "tradewind-students-"));
  try {
    const path = join(scratch, "run.json");
    const flags = { "--for": `${SECONDS}s`, "--seed": String(seed), "--silence": silence, "--json": path };
    const more = { "--ports": "free", "--interference": "none" };
    const args = [join(ROOT, "cli", "main.ts"), "local", ...Object.entries({ ...flags, ...more }).flat()];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    await loadBegan(child.stdout);
    child.stdout.resume();
    const over = new AbortController();
    void ended.then(() => over.abort());
    await delay(1e3 * SECONDS * SURGE_BEGINS, undefined, { signal: over.signal }).catch(() => undefined);
    await keepDead(child.pid ?? 0, over.signal);
    const code = await ended;
    if (code !== 0) throw new Error(`a run of the local platform ended with code ${code}`);
    return outcomeOf(parseJsonWith(RunReport, readFileSync(path, "utf8"), path), silence);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The platform says what it does; the first line about a request is that the load runs. */
async function loadBegan(output: NodeJS.ReadableStream): Promise<void> {
  await new Promise<void>((resolve) => {
    output.on("data", (data: Buffer) => {
      if (/requests?\/s|req\/s/.test(data.toString("utf8"))) resolve();
    });
  });
}

/** Kills the predictor; the one that its supervisor starts in its place is stopped before it can say anything. */
async function keepDead(platform: number, signal: AbortSignal): Promise<void> {
  const [first] = predictorsOf(platform);
  if (first === undefined) throw new Error("the local platform has no predictor to kill");
  for (const pid of predictorsOf(platform)) process.kill(pid, "SIGKILL");
  const stopped = new Set<number>();
  while (!signal.aborted) {
    for (const pid of predictorsOf(platform)) {
      if (stopped.has(pid)) continue;
      stopped.add(pid);
      process.kill(pid, "SIGSTOP");
    }
    await delay(50, undefined, { signal }).catch(() => undefined);
  }
}

/** Processes below the platform that run `tradewind predictor`. */
function predictorsOf(platform: number): number[] {
  const processes = readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const status = readFileSync(`/proc/${name}/status`, "utf8");
      const parent = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
      const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return [{ pid: Number(name), parent, args }];
    } catch {
      return [];
    }
  });
  const parents = new Map(processes.map(({ parent, pid }) => [pid, parent]));
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
      if (at === platform) return true;
    return false;
  };
  return processes.flatMap(({ args, pid }) => (args.includes("predictor") && isBelow(pid) ? [pid] : []));
}

function outcomeOf({ phases, seed }: RunReport, silence: LocalOutcome["silence"]): LocalOutcome {
  const after = phases.filter(({ fromS }) => fromS >= SECONDS * SURGE_BEGINS - 1);
  const sum = (of: (phase: (typeof phases)[number]) => number): number =>
    after.reduce((total, each) => total + of(each), 0);
  const seconds = sum(({ fromS, toS }) => toS - fromS);
  return {
    silence,
    seed,
    requests: sum(({ requests }) => requests),
    requestsOver: Math.round(sum(({ requests, violationRatio }) => requests * (violationRatio ?? 0))),
    cores:
      sum(({ allocatedCpuCoresMean = Number.NaN, fromS, toS }) => allocatedCpuCoresMean * (toS - fromS)) /
      seconds,
  };
}
