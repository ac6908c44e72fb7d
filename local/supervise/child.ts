import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { parseReadyLine } from "./ready-line.ts";

const READY_TIMEOUT_MILLIS = 30_000;
/** A process that was ready and lived so long has worked: its death is an accident, not a fault of its start. */
const STABLE_MILLIS = 10_000;
/** Deaths in a row without such a life after which it is given up. */
const MAX_EARLY_DEATHS = 5;
const TAIL_LINES = 12;

export interface ChildTimings {
  /** Waits before the restarts after the first, second ... early death in a row. */
  readonly backoffMillis: readonly number[];
  /** From SIGTERM to SIGKILL. */
  readonly stopMillis: number;
}
const DEFAULT_TIMINGS: ChildTimings = { backoffMillis: [300, 1_000, 2_000, 5_000], stopMillis: 5_000 };

export interface ChildOptions {
  /** For messages. */
  readonly name: string;
  /** Script and its arguments, for the Node.js that runs this. */
  readonly args: readonly string[];
  /** Standard error goes there, across restarts. */
  readonly logPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timings?: ChildTimings;
  /** A new process took the place of a dead one, or is about to. */
  readonly onChange: (state: "up" | "down", pid: number | undefined) => void;
  /** It died again and again: the platform cannot go on. */
  readonly onGivenUp: (error: Error) => void;
}

/** One supervised process of Tradewind. */
export interface Child {
  readonly name: string;
  readonly addresses: Readonly<Record<string, string>>;
  pid(): number | undefined;
  /** Ends it at once, as a crash does, and starts it no more. */
  end(): void;
  /** SIGTERM, then SIGKILL. Safe to call twice. */
  stop(): Promise<void>;
}

/** Last lines of a log, for an error message. */
export async function tailOf(path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
}

function launch({ args, logPath, env }: ChildOptions): ChildProcess {
  const log = openSync(logPath, "a");
  try {
    // Its own process group, so that Ctrl-C reaches the platform alone; the IPC channel tells it when the platform dies.
    return spawn(process.execPath, args, {
      detached: true,
      stdio: ["ignore", "pipe", log, "ipc"],
      env: { ...process.env, ...env },
    });
  } finally {
    closeSync(log);
  }
}

interface Launched {
  readonly child: ChildProcess;
  readonly exited: Promise<string>;
  /** Rejects when the process exits first or says nothing in time. */
  readonly ready: Promise<Readonly<Record<string, string>>>;
}

/** @throws Error when the process exits first or says nothing in time */
async function readyAddresses(
  child: ChildProcess,
  exited: Promise<string>,
): Promise<Readonly<Record<string, string>>> {
  const said = Promise.withResolvers<Readonly<Record<string, string>>>();
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const parsed = parseReadyLine(line);
      if (parsed !== undefined) said.resolve(parsed.addresses);
    });
  }
  const gone = exited.then((how) => {
    throw new Error(how);
  });
  const late = AbortSignal.timeout(READY_TIMEOUT_MILLIS);
  const lateness = once(late, "abort").then(() => {
    throw new Error(`no ready line within ${READY_TIMEOUT_MILLIS / 1e3} s`);
  });
  return Promise.race([said.promise, gone, lateness]);
}

function watch(options: ChildOptions): Launched {
  const child = launch(options);
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  const ready = readyAddresses(child, exited);
  // A failed start is reported through whoever awaits it; a failed restart through the back-off.
  ready.catch(() => undefined);
  return { child, exited, ready };
}

/**
 * Starts a process of Tradewind, waits until it is ready, and starts it again whenever it dies.
 * @throws TradewindError `process-failed` with the end of its log when it does not become ready the first time
 */
export async function superviseChild(options: ChildOptions): Promise<Child> {
  const { name, logPath, onChange, onGivenUp, timings = DEFAULT_TIMINGS } = options;
  let stopped = false;
  let earlyDeaths = 0;
  let timer: NodeJS.Timeout | undefined;
  let current = watch(options);

  const failure = async (how: string): Promise<TradewindError> => {
    const tail = await tailOf(logPath);
    return new TradewindError(
      "process-failed",
      `the ${name} failed: ${how}${tail === "" ? "" : `\nthe end of its log:\n${tail}`}`,
    );
  };
  const restart = async (): Promise<void> => {
    if (stopped) return;
    current = watch(options);
    const { child, ready } = current;
    void follow(current);
    try {
      await ready;
      onChange("up", child.pid);
    } catch {
      child.kill("SIGKILL");
    }
  };
  const follow = async ({ exited, ready }: Launched): Promise<void> => {
    const readyAtMs = ready.then(
      () => performance.now(),
      () => Number.POSITIVE_INFINITY,
    );
    const how = await exited;
    if (stopped) return;
    onChange("down", undefined);
    const livedMillis = performance.now() - (await readyAtMs);
    earlyDeaths = livedMillis >= STABLE_MILLIS ? 0 : earlyDeaths + 1;
    if (earlyDeaths >= MAX_EARLY_DEATHS) return onGivenUp(await failure(how));
    const { backoffMillis } = timings;
    timer = setTimeout(
      () => void restart(),
      backoffMillis[Math.min(earlyDeaths, backoffMillis.length) - 1] ?? 0,
    );
  };

  let addresses: Readonly<Record<string, string>>;
  try {
    addresses = await current.ready;
  } catch (error) {
    current.child.kill("SIGKILL");
    await current.exited;
    throw await failure(error instanceof Error ? error.message : String(error));
  }
  onChange("up", current.child.pid);
  void follow(current);

  return {
    name,
    addresses,
    pid: () => current.child.pid,
    end() {
      stopped = true;
      clearTimeout(timer);
      current.child.kill("SIGKILL");
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      const { child, exited } = current;
      child.kill("SIGTERM");
      const killer = setTimeout(() => child.kill("SIGKILL"), timings.stopMillis);
      await exited;
      clearTimeout(killer);
    },
  };
}
