import { execFile } from "node:child_process";
import { join } from "node:path";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "tradewind.mjs");

/** What a command came to. */
export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the `tradewind` command as a process. */
export async function tradewind(...args: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { timeout: 120_000 }, (error, stdout, stderr) => {
      const failed = typeof error?.code === "number" ? error.code : 1;
      resolve({ code: error === null ? 0 : failed, stdout, stderr });
    });
  });
}
