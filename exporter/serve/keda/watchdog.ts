import { write } from "node:fs";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { lastWords } from "@tradewind/core/process/last-words.ts";
import { BEAT_MS, Silence } from "@tradewind/core/process/silence.ts";

/** Memory that two threads beat into: one counter each, and whether they watch each other. */
export type Beats = Int32Array<SharedArrayBuffer>;
/** The threads by the place of their counter. */
const THREADS = ["main", "grpc"] as const;
export type ThreadName = (typeof THREADS)[number];

const ARMED = THREADS.length;
/** Longest wait for the last words: the output may be what is stuck. */
const LAST_WORDS_MS = 100;

export interface WatchdogOptions {
  readonly beats: Beats;
  /** The thread that this watchdog runs in; it watches the other one. */
  readonly own: ThreadName;
  /** A thread silent for this long is stuck. ms */
  readonly limitMs: number;
  readonly monotonicMs: () => number;
  /** CPU time used by all threads but this one, ms. */
  readonly othersCpuMs: () => number;
  /** Ends the process; called once. */
  readonly end: (silent: ThreadName, silentMs: number) => void;
}

export const newBeats = (): Beats =>
  new Int32Array(new SharedArrayBuffer((THREADS.length + 1) * Int32Array.BYTES_PER_ELEMENT));

/** From now on the threads watch each other, or no longer. */
export function arm(beats: Beats, armed: boolean): void {
  Atomics.store(beats, ARMED, armed ? 1 : 0);
}

/**
 * One of two threads that watch each other. Each counts up a few times a second, and with each call that it answers: a thread with
 * more work than time may come late to its timer, and still serves. The one whose count stands still is stuck, and the other ends the process. After a stop of the whole process (SIGSTOP, a paused machine) both go on; ending that is left to
 * the supervisor (`core/process/supervise.ts`).
 */
export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #other: ThreadName;
  readonly #timer: NodeJS.Timeout;
  readonly #silence: Silence;
  #lastCount = -1;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#other = THREADS[1 - THREADS.indexOf(options.own)] ?? "main";
    this.#silence = new Silence(options.monotonicMs());
    this.#timer = setInterval(() => this.beat(), BEAT_MS).unref();
  }

  /** This thread has answered somebody. */
  progress(): void {
    const { beats, own } = this.#options;
    Atomics.add(beats, THREADS.indexOf(own), 1);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Shows that this thread runs, and looks whether the other one does. */
  beat(): void {
    const { beats, limitMs, monotonicMs, othersCpuMs } = this.#options;
    this.progress();
    const count = Atomics.load(beats, THREADS.indexOf(this.#other));
    const heard = count !== this.#lastCount || Atomics.load(beats, ARMED) === 0;
    this.#lastCount = count;
    const silentMs = this.#silence.look(heard, limitMs, monotonicMs(), othersCpuMs);
    if (silentMs === undefined) return;
    this.stop();
    this.#options.end(this.#other, silentMs);
  }
}

/** Watches the other thread of this process from now on, as long as the watchdogs are armed. */
export function startWatchdog(
  own: ThreadName,
  { beats, limitMs }: Pick<WatchdogOptions, "beats" | "limitMs">,
): Watchdog {
  const monotonicMs = (): number => systemClock.monotonicMs();
  return new Watchdog({ beats, own, limitMs, monotonicMs, othersCpuMs, end: endProcess });
}

/** CPU time of the process without this thread, ms. */
function othersCpuMs(): number {
  const { system, user } = process.cpuUsage();
  // Node 24 knows it; without it the beats of this thread count too, which is next to nothing.
  const own =
    typeof process.threadCpuUsage === "function" ? process.threadCpuUsage() : { system: 0, user: 0 };
  return (system + user - own.system - own.user) / 1e3;
}

/**
 * Ends the process at once, whatever its other thread does: a signal needs nobody's help, as long as this is not process 1 of a
 * container. Says why, if that is possible.
 */
function endProcess(silent: ThreadName, silentMs: number): void {
  const kill = (): void => void process.kill(process.pid, "SIGKILL");
  const seconds = (silentMs / 1e3).toFixed(1);
  const line = lastWords(
    "exporter",
    `the thread ${silent} has not run for ${seconds} s; ending, to be started again`,
  );
  setTimeout(kill, LAST_WORDS_MS);
  write(2, line, kill);
}
