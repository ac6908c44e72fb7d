import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseReadyLine } from "../../local/supervise/ready-line.ts";

const PROGRAM = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const READY_MS = 60_000;
const STOP_MS = 10_000;
const TAIL_LINES = 20;
const CLOCK_TICKS_PER_SECOND = 100;

export interface ProcessOptions {
  /** Put before the program, for example `["prlimit", "--nofile=64"]`. */
  readonly wrapper?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of Node.js. */
  readonly flags?: readonly string[];
  /** Script; default the command's source. */
  readonly program?: string;
  readonly cwd?: string;
  /** Whether it ends with the one that started it, see cli/main.ts; default true. The channel for that takes memory, which images do not have. */
  readonly isTied?: boolean;
  /** Gets every line that it says, but the one that says it is ready. */
  readonly onLine?: (line: string) => void;
}

/** A process of Tradewind as users run it: `tradewind COMMAND …`. */
export class RealProcess {
  readonly name: string;
  readonly addresses: Readonly<Record<string, string>>;
  readonly child: ChildProcess;
  private readonly tail: string[];

  private constructor(name: string, child: ChildProcess, addresses: Record<string, string>, tail: string[]) {
    this.name = name;
    this.child = child;
    this.addresses = addresses;
    this.tail = tail;
  }

  /** Starts it and waits until it says that it is ready. @throws Error with its last lines when it ends first */
  static async start(
    command: string,
    args: readonly string[],
    options: ProcessOptions = {},
  ): Promise<RealProcess> {
    const { cwd, env = {}, flags = [], isTied = true, onLine, program = PROGRAM, wrapper = [] } = options;
    const [file, ...before] = [...wrapper, process.execPath];
    const child = spawn(file, [...before, ...flags, program, command, ...args], {
      ...(cwd !== undefined && { cwd }),
      stdio: ["ignore", "pipe", "pipe", ...(isTied ? (["ipc"] as const) : [])],
      env: { ...process.env, NODE_ENV: "production", ...env },
    });
    const { stderr, stdout } = child;
    if (stderr === null || stdout === null) throw new Error(`${command} has no output`);
    child.channel?.unref();
    const tail: string[] = [];
    createInterface(stderr).on("line", (line) => {
      if (tail.push(line) > TAIL_LINES) tail.shift();
      onLine?.(line);
    });
    const ready = Promise.withResolvers<Record<string, string>>();
    const fail = (why: string): void =>
      ready.reject(new Error(`${command} ${why}: ${tail.join("\n") || "it said nothing"}`));
    createInterface(stdout).on("line", (line) => {
      const parsed = parseReadyLine(line);
      if (parsed === undefined) onLine?.(line);
      else ready.resolve(parsed.addresses);
    });
    child.once("exit", (code, signal) => fail(`ended with ${code ?? signal ?? ""}`));
    child.once("error", (error) => fail(`cannot be started (${error.message})`));
    const late = setTimeout(() => fail(`was not ready within ${READY_MS} ms`), READY_MS);
    try {
      return new RealProcess(command, child, await ready.promise, tail);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** How it ended, with its last words. */
  get ending(): string {
    const { exitCode, signalCode } = this.child;
    return `${this.name} ended with ${exitCode ?? signalCode ?? "nothing"}: ${this.tail.join(" | ").slice(-1_000)}`;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Kills it and waits until it is gone. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (!this.isAlive) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGCONT");
    this.child.kill(signal);
    const late = setTimeout(() => this.child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(late);
  }

  /** Resident memory now, bytes; 0 once it is gone. */
  residentBytes(): number {
    return 1_024 * numberIn(statusOf(this.pid), /VmRSS:\s+(\d+) kB/);
  }

  /** Most resident memory so far, bytes. */
  peakBytes(): number {
    return peakBytesOf(this.pid);
  }

  /** CPU seconds so far, user and system. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.pid);
  }
}

/** CPU seconds that a process has used, all threads; 0 once it is gone. */
export function cpuSecondsOf(pid: number): number {
  const fields = readProc(pid, "stat")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / CLOCK_TICKS_PER_SECOND;
}

/** The most memory that a process ever had resident, bytes. */
export const peakBytesOf = (pid: number): number => 1_024 * numberIn(statusOf(pid), /VmHWM:\s+(\d+) kB/);

const statusOf = (pid: number): string => readProc(pid, "status");
const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
