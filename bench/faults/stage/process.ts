import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseReadyLine } from "../../../local/supervise/ready-line.ts";

const PROGRAM = fileURLToPath(new URL("../../../cli/main.ts", import.meta.url));
const READY_MS = 60_000;
const STOP_MS = 5_000;
const TAIL_LINES = 20;
const CLOCK_TICKS_PER_SECOND = 100;

export interface ProcessOptions {
  /** Put before the program, for example `["prlimit", "--nofile=64"]`. */
  readonly wrapper?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
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
    { env = {}, wrapper = [] }: ProcessOptions = {},
  ): Promise<RealProcess> {
    const [program, ...before] = [...wrapper, process.execPath];
    const child = spawn(program, [...before, PROGRAM, command, ...args], {
      // It ends with the one that started it, see cli/main.ts.
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { ...process.env, NODE_ENV: "production", ...env },
    });
    const { stderr, stdout } = child;
    if (stderr === null || stdout === null) throw new Error(`${command} has no output`);
    child.channel?.unref();
    const tail: string[] = [];
    createInterface(stderr).on("line", (line) => {
      if (tail.push(line) > TAIL_LINES) tail.shift();
    });
    const ready = Promise.withResolvers<Record<string, string>>();
    const fail = (why: string): void =>
      ready.reject(new Error(`${command} ${why}: ${tail.join("\n") || "it said nothing"}`));
    createInterface(stdout).on("line", (line) => {
      const parsed = parseReadyLine(line);
      if (parsed !== undefined) ready.resolve(parsed.addresses);
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
    return 1_024 * this.status(/VmRSS:\s+(\d+) kB/);
  }

  /** Most resident memory so far, bytes. */
  peakBytes(): number {
    return 1_024 * this.status(/VmHWM:\s+(\d+) kB/);
  }

  /** CPU seconds so far, user and system. */
  cpuSeconds(): number {
    const fields = this.read("stat")
      .replace(/^.*\) /s, "")
      .split(" ");
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / CLOCK_TICKS_PER_SECOND;
  }

  private status(pattern: RegExp): number {
    return Number(pattern.exec(this.read("status"))?.[1] ?? 0);
  }

  private read(file: string): string {
    try {
      return readFileSync(`/proc/${this.pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  }
}
