import type { Clock } from "@tradewind/core/process/clock.ts";
import type { SampleTime } from "../sampling/sample-time.ts";
import { Sampler } from "../sampling/sampler.ts";
import type { SamplerState, SignalState } from "../sampling/sampler.ts";
import { NONE } from "../sampling/signal.ts";
import type { SignalId, SignalOptions } from "../sampling/signal.ts";

/** Something that is read when the sampling controller says so. */
export interface Reading {
  /** Error of the held rate or level that does not matter, where that depends on what was read; else as added. */
  readonly tolerance?: number | undefined;
  /** @returns the value the controller judges */
  read(time: SampleTime): number;
  /** Told of a failed read; may remove the signal. */
  failed(error: unknown): void;
}

/** How often the cost budget is weighed. */
const REBALANCE_MS = 30_000;
/** What falls due within this time is read now: cycles do not come at exact times. */
const AHEAD_MS = 100;
const SLOW_MS = 50;
/** How long a reader's request for more frequent readings holds. */
const ASKED_MS = 60_000;
/** Readings come in the last cycle of a window: cycles are a second apart. */
const LEAD_MS = 1_000;

/** Runs readings when they are due. The controller (agent/sampling/) decides when; this owns the clock. */
export class Schedule {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #sampler: Sampler;
  readonly #readings = new Map<SignalId, Reading>();
  #rebalancedMs = 0;
  /** What is asked for has changed since the budget was weighed. */
  #isOutOfBalance = false;
  #samples = 0;
  #failures = 0;
  #slow = 0;

  /** @param windowSeconds length of the windows that the readings are for, which begin at its multiples since the epoch */
  constructor(clock: Clock, costBudgetRatio: number, windowSeconds: number) {
    this.#clock = clock;
    this.#windowMs = windowSeconds * 1e3;
    this.#sampler = new Sampler({ costBudgetRatio, terms: { windowSeconds } });
  }

  get samplesTotal(): number {
    return this.#samples;
  }

  get failuresTotal(): number {
    return this.#failures;
  }

  /** Samples that took more than 50 ms. */
  get slowTotal(): number {
    return this.#slow;
  }

  now(): SampleTime {
    return { nowMs: this.#clock.nowMs(), seconds: this.#clock.monotonicMs() / 1e3 };
  }

  add(options: SignalOptions, reading: Reading): SignalId {
    const id = this.#sampler.add(options, this.#clock.monotonicMs());
    this.#readings.set(id, reading);
    return id;
  }

  remove(id: SignalId): void {
    if (this.#readings.delete(id)) this.#sampler.remove(id);
  }

  wake(channels: number): void {
    this.#sampler.wake(channels, this.#clock.monotonicMs());
  }

  /** Reads a signal at least so often for a minute, as far as the cost budget goes. */
  hasten(id: SignalId, seconds: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#sampler.hasten(id, seconds, nowMs + ASKED_MS, nowMs)) this.#isOutOfBalance = true;
  }

  state(id: SignalId): SignalState | undefined {
    return this.#sampler.state(id);
  }

  totals(): SamplerState {
    return this.#sampler.totals();
  }

  /**
   * Reads what is due, for at most `sliceMs`.
   * @returns true when everything due was read
   */
  run(sliceMs: number): boolean {
    const startMs = this.#clock.monotonicMs();
    this.#sampler.align(startMs - (this.#clock.nowMs() % this.#windowMs) - LEAD_MS);
    let nowMs = startMs;
    for (;;) {
      const id = this.#sampler.nextDue(nowMs + AHEAD_MS);
      if (id === NONE) break;
      nowMs = this.#read(id, nowMs);
      if (nowMs - startMs > sliceMs) return false;
    }
    if (this.#isOutOfBalance || nowMs - this.#rebalancedMs > REBALANCE_MS) {
      this.#rebalancedMs = nowMs;
      this.#isOutOfBalance = false;
      this.#sampler.rebalance();
    }
    return true;
  }

  /** @returns the time after the read, ms */
  #read(id: SignalId, nowMs: number): number {
    const reading = this.#readings.get(id);
    if (reading === undefined) return nowMs;
    const time = { nowMs: this.#clock.nowMs(), seconds: nowMs / 1e3 };
    try {
      const value = reading.read(time);
      const afterMs = this.#clock.monotonicMs();
      this.#samples += 1;
      const { tolerance } = reading;
      if (tolerance !== undefined) this.#sampler.tolerate(id, tolerance);
      if (afterMs - nowMs > SLOW_MS) this.#slow += 1;
      this.#sampler.observe(id, value, nowMs, (afterMs - nowMs) / 1e3);
      return afterMs;
    } catch (error) {
      this.#failures += 1;
      this.#sampler.failed(id, nowMs);
      reading.failed(error);
      return this.#clock.monotonicMs();
    }
  }
}
