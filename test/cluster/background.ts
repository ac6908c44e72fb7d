import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitUntil } from "../wait-until.ts";
import { cacheFolder } from "./programs.ts";

/** A cluster that a process in the background holds. */
export interface Held {
  readonly pid: number;
  readonly kubeconfig: string;
  /** Logs of all programs. */
  readonly folder: string;
}

const UP_MS = 900_000;
const DOWN_MS = 60_000;
const main = fileURLToPath(new URL("main.ts", import.meta.url));

/** Starts, finds and ends clusters of one kind, of which one can run at a time. */
export class Background {
  readonly #name: string;
  readonly #words: readonly string[];

  /** @param words of `npm run cluster --` that hold such a cluster */
  constructor(name: string, words: readonly string[]) {
    this.#name = name;
    this.#words = words;
  }

  /** Written when the cluster is ready, removed at its end. */
  get #stateFile(): string {
    return join(cacheFolder(), `${this.#name}.json`);
  }

  /** The cluster that runs now. */
  current(): Held | undefined {
    try {
      const held = JSON.parse(readFileSync(this.#stateFile, "utf8")) as Held;
      process.kill(held.pid, 0);
      return held;
    } catch {
      return undefined;
    }
  }

  /** What the background process does: holds a cluster until it is asked to end. */
  async hold(start: () => Promise<Omit<Held, "pid"> & { stop(): Promise<void> }>): Promise<void> {
    // Listened to before anything runs: programs started so far are ended too.
    const asked = Promise.race(["SIGTERM", "SIGINT"].map((signal) => once(process, signal)));
    const { folder, kubeconfig, stop } = await start();
    const held: Held = { pid: process.pid, kubeconfig, folder };
    await writeFile(this.#stateFile, JSON.stringify(held));
    await asked;
    await stop();
    rmSync(this.#stateFile, { force: true });
  }

  /** Starts a cluster unless one runs. @throws Error with what the process said when it ended */
  async up(): Promise<Held> {
    if (this.current() !== undefined) return this.current()!;
    await mkdir(cacheFolder(), { recursive: true });
    const logFile = join(cacheFolder(), `${this.#name}.log`);
    const log = openSync(logFile, "w");
    const child = spawn(process.execPath, [main, ...this.#words], {
      detached: true,
      stdio: ["ignore", log, log],
    });
    child.unref();
    const isUp = (): boolean => {
      if (child.exitCode === null) return this.current() !== undefined;
      throw new Error(`it ended:\n${readFileSync(logFile, "utf8")}`);
    };
    await waitUntil(isUp, UP_MS, "the cluster is up");
    return this.current()!;
  }

  /** @returns whether there was one */
  async down(): Promise<boolean> {
    const running = this.current();
    if (running === undefined) return false;
    process.kill(running.pid, "SIGTERM");
    await waitUntil(() => this.current() === undefined, DOWN_MS, "the cluster is down");
    return true;
  }
}
