/**
 * Stands between the platform and programs that know nothing of it: when the channel to the platform closes, however it
 * ended, it ends them with all their workers, and then itself.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { KeeperOrder } from "./keeper-order.ts";
import type { FromKeeper, KeptProgram } from "./keeper-order.ts";
import { killGroup } from "../supervise/kill-group.ts";

const READY_TIMEOUT_MILLIS = 5_000;
const TAIL_CHARS = 300;

const groups: number[] = [];
let ending = false;

function end(code: number): void {
  ending = true;
  for (const group of groups) killGroup(group);
  process.exit(code);
}

const send = (message: FromKeeper): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};

function fail(why: string): void {
  if (ending) return;
  ending = true;
  for (const group of groups) killGroup(group);
  if (process.connected) process.send?.({ kind: "failed", why }, undefined, undefined, () => process.exit(1));
  else process.exit(1);
}

async function untilItSays(child: ChildProcess, text: string): Promise<void> {
  const signal = AbortSignal.timeout(READY_TIMEOUT_MILLIS);
  let said = "";
  while (!said.includes(text) && child.stdout !== null) {
    const [part] = (await once(child.stdout, "data", { signal })) as [Buffer];
    said = (said + part.toString()).slice(-4 * TAIL_CHARS);
  }
  child.stdout?.resume();
}

async function start({ file, args, isNode, readyText }: KeptProgram): Promise<void> {
  const child = spawn(file, args, {
    // A group of its own, in which its workers stay too.
    detached: true,
    stdio: [
      "ignore",
      readyText === undefined ? "ignore" : "pipe",
      "pipe",
      ...(isNode ? ["ipc" as const] : []),
    ],
  });
  let tail = "";
  child.stderr?.on("data", (part: Buffer) => {
    tail = (tail + part.toString()).slice(-TAIL_CHARS);
  });
  child.once("error", (error) => fail(`${file}: ${describeError(error)}`));
  child.once("exit", (code, signal) => {
    if (code !== 0) fail(`${file} ended with ${code ?? signal}: ${tail.trim()}`);
  });
  if (child.pid === undefined) return;
  groups.push(child.pid);
  send({ kind: "started", pid: child.pid });
  if (readyText !== undefined) await untilItSays(child, readyText);
}

process.on("disconnect", () => end(0));
process.on("SIGTERM", () => end(0));
if (!process.connected) process.exit(0);
const order = parseJsonWith(KeeperOrder, process.argv[2] ?? "", "the order of the keeper");
try {
  for (const program of order.programs) await start(program);
  send({ kind: "ready" });
  setTimeout(() => end(0), order.seconds * 1e3);
} catch (error) {
  fail(describeError(error));
}
