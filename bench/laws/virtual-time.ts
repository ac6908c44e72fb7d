import { syncBuiltinESMExports } from "node:module";
import type { setTimeout } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";

interface Sleeper {
  dueMs: number;
  readonly order: number;
  readonly wake: () => void;
}

type Delay = typeof setTimeout;

/**
 * The true time of a world, and how the processes in it sleep: `setTimeout` of `node:timers/promises` goes by it, whoever imports that.
 * Timers of processes that were killed are due as well: what they wake gets no further than the next point.
 */
export class VirtualTime implements Disposable {
  /** True time since the world began, ms. */
  nowMs = 0;
  readonly #sleepers: Sleeper[] = [];
  readonly #module = process.getBuiltinModule("node:timers/promises") as { setTimeout: Delay };
  readonly #real: Delay;
  #orders = 0;

  constructor() {
    this.#real = this.#module.setTimeout;
    this.#module.setTimeout = (async (ms: number, value: unknown, options?: { signal?: AbortSignal }) =>
      this.#sleep(ms, value, options?.signal)) as Delay;
    syncBuiltinESMExports();
  }

  [Symbol.dispose](): void {
    this.#module.setTimeout = this.#real;
    syncBuiltinESMExports();
  }

  /** Time goes by; who is due wakes, the earliest first, and goes as far as it can. */
  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      const next = this.#earliest(endMs);
      if (next === undefined) break;
      this.nowMs = Math.max(this.nowMs, next.dueMs);
      next.wake();
      await settled();
    }
    this.nowMs = endMs;
  }

  /** The machine on which everything sleeps is suspended: time goes by, and nobody comes any closer to waking. */
  suspend(ms: number): void {
    this.nowMs += ms;
    for (const sleeper of this.#sleepers) sleeper.dueMs += ms;
  }

  #earliest(endMs: number): Sleeper | undefined {
    let earliest = -1;
    for (const [index, { dueMs, order }] of this.#sleepers.entries()) {
      const best = this.#sleepers[earliest];
      if (dueMs > endMs) continue;
      if (best === undefined || dueMs < best.dueMs || (dueMs === best.dueMs && order < best.order))
        earliest = index;
    }
    return earliest === -1 ? undefined : this.#sleepers.splice(earliest, 1)[0];
  }

  async #sleep(ms: number, value: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      this.#orders += 1;
      const sleeper = { dueMs: this.nowMs + ms, order: this.#orders, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener(
        "abort",
        () => {
          const index = this.#sleepers.indexOf(sleeper);
          if (index !== -1) this.#sleepers.splice(index, 1);
          reject(signal.reason as Error);
        },
        { once: true },
      );
    });
    return value;
  }
}

/** Whatever can go on has gone as far as it can without time, a disk or a message. */
export const settled = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** The clocks of a machine, as its kernel keeps them. */
export class MachineClock implements Clock {
  readonly #time: VirtualTime;
  readonly #startMs: number;
  /** By how much the wall clock is ahead of the true time. */
  skewMs: number;
  /** For how long the machine was suspended: the monotonic clock stood still. */
  suspendedMs = 0;

  constructor(time: VirtualTime, startMs: number, skewMs: number) {
    this.#time = time;
    this.#startMs = startMs;
    this.skewMs = skewMs;
  }

  nowMs(): number {
    return this.#startMs + this.#time.nowMs + this.skewMs;
  }

  monotonicMs(): number {
    return this.#time.nowMs - this.suspendedMs;
  }
}
