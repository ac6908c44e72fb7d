/**
 * Runs a command of Tradewind and ends it when it hangs as a whole: `node supervise.js [flags of node] cli/main.js exporter ...`.
 * Signals go to the command, its exit code comes back, 128 + the signal's number where a signal ended it.
 *
 * It is the first process of the exporter's container. Linux lets nobody in a container kill process 1, not even itself, so a
 * watchdog inside of process 1 could end nothing. It loads nothing but Node.js: 9 MB of memory of its own.
 */
import { spawn } from "node:child_process";
import { readFileSync, write } from "node:fs";
import { constants } from "node:os";
import { systemClock } from "./clock.ts";
import { beatIn } from "./heartbeat.ts";
import { lastWords } from "./last-words.ts";
import { BEAT_MS, Silence } from "./silence.ts";

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Longest wait for the last line to be written: who reads it may hang. */
const LAST_WORDS_MS = 100;
/** Fields of proc_pid_stat(5) after the command's name, and Linux's unit of them, which is the same on all machines. */
const USER_TICKS_FIELD = 11;
const SYSTEM_TICKS_FIELD = 12;
const TICK_MS = 10;

const [name = "command"] = process.argv
  .slice(2)
  .filter((each) => !each.startsWith("-"))
  .slice(1);
const child = spawn(process.execPath, process.argv.slice(2), {
  stdio: ["inherit", "inherit", "inherit", "ipc"],
});
for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
// A supervisor that was started with a channel belongs to the one that started it.
process.once("disconnect", () => child.kill("SIGTERM"));
process.channel?.unref();

let limitMs: number | undefined;
let isHeard = false;
child.on("message", (message) => {
  limitMs = beatIn(message)?.beatWithinMs ?? limitMs;
  isHeard = true;
});
const silence = new Silence(systemClock.monotonicMs());
const watching = setInterval(() => {
  const heard = isHeard || limitMs === undefined;
  isHeard = false;
  const silentMs = silence.look(heard, limitMs ?? 0, systemClock.monotonicMs(), cpuMs);
  if (silentMs !== undefined) end(silentMs);
}, BEAT_MS);

child.once("error", (error) => leave(1, `cannot be started: ${error.message}`));
child.once("exit", (code, signal) => {
  const exitCode = code ?? 128 + constants.signals[signal ?? "SIGKILL"];
  if (signal === null) process.exit(exitCode);
  leave(exitCode, `ended by ${signal}`);
});

/** SIGKILL ends a process that is stopped too. */
function end(silentMs: number): void {
  clearInterval(watching);
  const seconds = (silentMs / 1e3).toFixed(1);
  const line = lastWords(name, `the process has not run for ${seconds} s; ending, to be started again`);
  write(2, line, () => undefined);
  child.kill("SIGKILL");
}

function leave(exitCode: number, why: string): void {
  clearInterval(watching);
  const exit = (): never => process.exit(exitCode);
  setTimeout(exit, LAST_WORDS_MS);
  write(2, lastWords(name, `the process was ${why}; exit code ${exitCode}`), exit);
}

/** CPU time that the command has used, ms; 0 where the system has no /proc. */
function cpuMs(): number {
  try {
    const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return TICK_MS * (Number(fields[USER_TICKS_FIELD]) + Number(fields[SYSTEM_TICKS_FIELD]));
  } catch {
    return 0;
  }
}
