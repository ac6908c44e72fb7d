import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { siblingModule } from "@tradewind/core/process/sibling-module.ts";
import { isAlive } from "../supervise/run-directory.ts";
import { FromKeeper } from "./keeper-order.ts";
import type { KeeperOrder } from "./keeper-order.ts";
import { killGroup } from "../supervise/kill-group.ts";
import { findProgram, hog, stressNg } from "./programs.ts";
import type { Noise } from "./programs.ts";

/** A noisy neighbour at work. It ends by itself, and when this process does, however that ends. */
export interface Interference {
  /** What makes the noise, for the screen: `stress-ng`, `iperf3` or `built-in hog`. */
  readonly source: string;
  /** Resolves when all of it runs, or it has ended before. */
  readonly ready: Promise<void>;
  /** Settles when it is gone: rejects when a program failed. */
  readonly ended: Promise<void>;
  /** Safe to call twice. Resolves when the neighbour is gone. */
  stop(): Promise<void>;
}

/** A killed process is gone at once but for what it holds, which takes the kernel a moment to take back. */
const GONE_MILLIS = 20;
const GONE_LOOKS = 100;

/** @param onSpawn told of each process, so that it can be found again after a crash */
export function startNoise(
  { source, programs }: Noise,
  seconds: number,
  onSpawn: (pid: number) => void = () => undefined,
): Interference {
  const order: KeeperOrder = { programs: [...programs], seconds };
  const keeper = spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      siblingModule(import.meta.url, "./keeper-process.ts"),
      JSON.stringify(order),
    ],
    { detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"] },
  );
  const groups: number[] = [];
  let failure: TradewindError | undefined;
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined);
  const settle = async (): Promise<void> => {
    // Usually done by the keeper; not when the keeper itself was killed.
    for (const group of groups) killGroup(group);
    for (let looks = 0; looks < GONE_LOOKS && groups.some(isAlive); looks += 1) await delay(GONE_MILLIS);
    ready.resolve();
    if (failure === undefined) ended.resolve();
    else ended.reject(failure);
  };
  keeper.on("message", (raw) => {
    const message = FromKeeper.safeParse(raw).data;
    if (message?.kind === "ready") ready.resolve();
    if (message?.kind === "failed")
      failure = new TradewindError("interference-failed", `the interference failed: ${message.why}`);
    if (message?.kind === "started") {
      groups.push(message.pid);
      onSpawn(message.pid);
    }
  });
  keeper.once("error", () => void settle());
  keeper.once("close", () => void settle());
  if (keeper.pid !== undefined) onSpawn(keeper.pid);
  return {
    source,
    ready: ready.promise,
    ended: ended.promise,
    async stop() {
      // The keeper knows what it has started, also what it has not told yet; before it listens it has started nothing.
      keeper.kill("SIGTERM");
      await ended.promise.catch(() => undefined);
    },
  };
}

export interface InterferenceOptions {
  readonly seconds: number;
  /** Search path for stress-ng; empty for the built-in hog. */
  readonly searchPath: string;
  readonly onSpawn?: (pid: number) => void;
}

/**
 * The neighbour of a run's interference phase: one worker at 60 % of a core and one that streams through memory, enough to
 * be felt, too little to make a machine of two cores unresponsive.
 */
export function startInterference({ seconds, searchPath, onSpawn }: InterferenceOptions): Interference {
  const path = findProgram("stress-ng", searchPath);
  const noise =
    path === undefined
      ? hog({ kind: "mixed", seconds, duty: 0.85 })
      : stressNg(path, seconds, {
          "--cpu": "1",
          "--cpu-load": "60",
          "--cpu-method": "int64",
          "--memcpy": "1",
        });
  return startNoise(noise, seconds, onSpawn);
}
