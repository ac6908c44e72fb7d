import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { siblingModule } from "../supervise/module-path.ts";

/** A noisy neighbour: about one core of arithmetic and memory traffic, on a machine of two. */
export interface Interference {
  /** What makes the noise, for the screen: `stress-ng` or `built-in hog`. */
  readonly source: string;
  /** Safe to call twice. Resolves when the neighbour is gone. */
  stop(): Promise<void>;
}

/** Finds a program in a search path. @returns its full path, or undefined */
export function findProgram(name: string, searchPath: string): string | undefined {
  for (const directory of searchPath.split(delimiter).filter((each) => each !== "")) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}

/**
 * One worker at 60 % of a core and one that streams through memory at a quarter of one: enough to be felt, too little to
 * make a machine of two cores unresponsive. Every program ends by itself after `seconds`, whatever becomes of us.
 */
function stressArguments(seconds: number): readonly string[] {
  const flags = { "--cpu": "1", "--cpu-load": "60", "--cpu-method": "int64", "--memcpy": "1" };
  return [...Object.entries(flags).flat(), "--timeout", `${Math.ceil(seconds)}s`, "--quiet"];
}

/** Ends a process group; one that is gone already is no error. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

export interface InterferenceOptions {
  readonly seconds: number;
  /** Search path for stress-ng; empty for the built-in hog. */
  readonly searchPath: string;
  readonly onSpawn?: (pid: number) => void;
}

export function startInterference({ seconds, searchPath, onSpawn }: InterferenceOptions): Interference {
  const stressNg = findProgram("stress-ng", searchPath);
  const child =
    stressNg === undefined
      ? spawn(process.execPath, [siblingModule(import.meta.url, "./hog.ts"), String(seconds)], {
          detached: true,
          stdio: ["ignore", "ignore", "ignore", "ipc"],
        })
      : spawn(stressNg, stressArguments(seconds), { detached: true, stdio: "ignore" });
  const gone = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  });
  if (child.pid !== undefined) onSpawn?.(child.pid);
  return {
    source: stressNg === undefined ? "built-in hog" : "stress-ng",
    async stop() {
      killGroup(child);
      await gone;
    },
  };
}
