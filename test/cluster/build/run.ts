import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

interface RunOptions {
  readonly cwd?: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly onErrorLine?: (line: string) => void;
}

/** Of what a program says on its error output. */
const LINES_KEPT = 20;

/** Runs a program to its end, and ends it with this process. @returns what it printed @throws Error with its last lines */
export async function run(program: string, args: readonly string[], options: RunOptions): Promise<string> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = (): void => void child.kill("SIGTERM");
  const onSignal = (): void => {
    end();
    process.exitCode = 1;
  };
  process.once("exit", end);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, onSignal);
  const last: string[] = [];
  createInterface(child.stderr).on("line", (line) => {
    last.push(line);
    if (last.length > LINES_KEPT) last.shift();
    options.onErrorLine?.(line);
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  let output: string;
  try {
    output = await text(child.stdout);
    const [code] = await closed;
    if (code === 0) return output;
  } finally {
    process.removeListener("exit", end);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeListener(signal, onSignal);
  }
  // `go mod download -json` says on its output what went wrong.
  const said = last.length > 0 ? last.join("\n") : output.slice(-2_000);
  throw new Error(`${program} ${args.slice(0, 2).join(" ")} failed:\n${said}`);
}
