import type { CallPool } from "./call-pool.ts";
import { CallQueue } from "./call-queue.ts";
import type { EventHeap } from "./event-heap.ts";
import { JobHeap } from "./job-heap.ts";
import type { Machine } from "./machine.ts";

/** Work and quota below this, ms, count as none: times carry rounding of that order after a week. */
const EPSILON_MS = 1e-5;
/** Weight of a container without a CPU request: CFS gives it 2 shares of 1,024 a core. */
const LEAST_WEIGHT = 2 / 1024;

/** What a container may use of the CPU. */
export interface ProcessorSize {
  readonly requestCores: number;
  /** Infinity without a limit. */
  readonly limitCores: number;
  readonly periodMs: number;
}

export interface ProcessorOptions extends ProcessorSize {
  readonly slot: number;
  readonly machine: Machine;
  readonly events: EventHeap;
  readonly calls: CallPool;
  /** Most requests on the CPU at once; the others wait in order. Infinity: all of them share it. */
  readonly threads: number;
  /** Start of any of its CFS periods, ms. */
  readonly phaseMs: number;
}

/**
 * The CPU of one container under CFS bandwidth control (Turner, Rao, Rao, CPU bandwidth control for CFS, 2010): in each
 * period its threads use up to one CPU each, until the quota (limit times period) is used; then all of them stall until the
 * next period begins. Quota is not carried over. What the kernel hands out in slices of 5 ms per CPU is one pool here.
 * Threads share evenly (processor sharing), so one number, the work that each job has had, advances for all of them: a job
 * is done when it reaches the job's own mark.
 */
export class Processor {
  readonly slot: number;
  weight: number;
  /** For the machine: threads counted, CPUs granted, and the place in its list. */
  countedCores = 0;
  grantedCores = 0;
  place = 0;
  /** CPUs that each running job has, 0 to 1. */
  speed = 0;
  /** CPU time used, periods with something to run and periods throttled, as in `cpu.stat`. */
  usedMs = 0;
  periods = 0;
  throttledPeriods = 0;
  readonly machine: Machine;
  private readonly events: EventHeap;
  private readonly calls: CallPool;
  private readonly threads: number;
  private readonly running = new JobHeap();
  private readonly waiting = new CallQueue();
  private periodMs: number;
  private quotaMs: number;
  private leftMs: number;
  private periodEndMs: number;
  private ranInPeriod = false;
  private throttled = false;
  private workMs = 0;
  private lastMs: number;

  constructor(options: ProcessorOptions, nowMs: number) {
    const { calls, events, limitCores, machine, periodMs, phaseMs, requestCores, slot, threads } = options;
    this.slot = slot;
    this.machine = machine;
    this.events = events;
    this.calls = calls;
    this.threads = threads;
    this.weight = Math.max(LEAST_WEIGHT, requestCores);
    this.periodMs = periodMs;
    this.quotaMs = limitCores * periodMs;
    this.leftMs = this.quotaMs;
    this.periodEndMs = phaseMs + (Math.floor((nowMs - phaseMs) / periodMs) + 1) * periodMs;
    this.lastMs = nowMs;
  }

  /** CPUs that its threads would use now if there were no end of them. */
  get wantedCores(): number {
    return this.throttled ? 0 : this.running.length;
  }

  /** Requests on the CPU or waiting for a thread. */
  get jobs(): number {
    return this.running.length + this.waiting.length;
  }

  /** Start of the next CFS period, ms; exact as of the last event. */
  get nextPeriodMs(): number {
    return this.periodEndMs;
  }

  /** CPU time used until now. */
  usedUntil(nowMs: number): number {
    return this.usedMs + this.speed * this.running.length * (nowMs - this.lastMs);
  }

  /** Starts a job of `calls.demandMs[job]` of CPU time, or lets it wait for a thread: behind all others, or before them. */
  submit(job: number, nowMs: number, isFirst = false): void {
    if (this.running.length >= this.threads) {
      if (isFirst) this.waiting.prepend(job, this.calls.next);
      else this.waiting.append(job, this.calls.next);
      return;
    }
    this.advance(nowMs);
    this.start(job);
    this.machine.changed(this, nowMs);
    this.schedule(nowMs);
  }

  /** Its event: a job is done, the quota is used up, or a new period begins. Finished jobs go to `calls.wake`. */
  event(nowMs: number): void {
    this.advance(nowMs);
    if (this.throttled) {
      this.throttled = false;
      this.roll(nowMs);
    }
    const done = this.workMs + EPSILON_MS;
    while (this.running.length > 0 && this.running.least <= done) {
      this.calls.wake(this.running.pop());
      if (this.waiting.length > 0) this.start(this.waiting.shift(this.calls.next));
    }
    if (this.running.length === 0) this.workMs = 0;
    else if (this.leftMs <= EPSILON_MS) {
      this.throttled = true;
      this.throttledPeriods += 1;
    }
    this.machine.changed(this, nowMs);
    this.schedule(nowMs);
  }

  /** A new size takes effect at once, in the middle of a period too. */
  resize({ limitCores, periodMs, requestCores }: ProcessorSize, nowMs: number): void {
    this.advance(nowMs);
    const quotaMs = limitCores * periodMs;
    const spentMs = this.quotaMs === Infinity ? 0 : this.quotaMs - this.leftMs;
    this.leftMs = quotaMs === Infinity ? Infinity : Math.max(0, quotaMs - spentMs);
    this.quotaMs = quotaMs;
    this.periodMs = periodMs;
    this.weight = Math.max(LEAST_WEIGHT, requestCores);
    if (this.leftMs > EPSILON_MS) this.throttled = false;
    this.machine.changed(this, nowMs);
    this.machine.reweighed(this, nowMs);
    this.schedule(nowMs);
  }

  /** The container ends; what it ran and what waited is forgotten. */
  stop(nowMs: number): void {
    this.advance(nowMs);
    this.running.clear();
    this.waiting.clear();
    this.throttled = false;
    this.workMs = 0;
    this.machine.changed(this, nowMs);
    this.events.remove(this.slot);
  }

  /** Brings work, quota and counters to `nowMs`; between events nothing but time changes them. */
  advance(nowMs: number): void {
    const elapsedMs = nowMs - this.lastMs;
    if (this.speed > 0 && elapsedMs > 0) {
      const usedMs = this.speed * this.running.length * elapsedMs;
      this.workMs += this.speed * elapsedMs;
      this.usedMs += usedMs;
      this.leftMs -= usedMs;
      this.ranInPeriod = true;
    }
    this.lastMs = nowMs;
    if (nowMs >= this.periodEndMs && !this.throttled) this.roll(nowMs);
  }

  /** The next moment at which something happens if nothing else does before. */
  schedule(nowMs: number): void {
    const count = this.running.length;
    if (count === 0) {
      this.events.remove(this.slot);
    } else if (this.throttled) {
      this.events.set(this.slot, this.periodEndMs);
    } else {
      const doneMs = nowMs + (this.running.least - this.workMs) / this.speed;
      const stallMs = this.quotaMs === Infinity ? Infinity : this.stallMs(nowMs, this.speed * count);
      this.events.set(this.slot, doneMs < stallMs ? doneMs : stallMs);
    }
  }

  /** When the quota is used up at this rate (CPUs); Infinity when it lasts. */
  private stallMs(nowMs: number, rate: number): number {
    const atMs = nowMs + Math.max(0, this.leftMs) / rate;
    if (atMs < this.periodEndMs) return atMs;
    return rate * this.periodMs > this.quotaMs + EPSILON_MS
      ? this.periodEndMs + this.quotaMs / rate
      : Infinity;
  }

  /** What must hold of it at any moment and does not; undefined when all does. */
  problem(): string | undefined {
    const count = this.running.length;
    const name = `container ${this.slot >> 2}`;
    if (count > this.threads) return `${name} runs ${count} requests on ${this.threads} threads`;
    if (this.waiting.length > 0 && count < this.threads)
      return `${name} has a free thread and work that waits`;
    if (this.leftMs < -2 * EPSILON_MS * Math.max(1, count))
      return `${name} used ${-this.leftMs} ms more than its quota`;
    if (this.throttled && this.speed > 0) return `${name} runs although it is throttled`;
    if (count > 0 && !this.throttled && !(this.speed > 0)) return `${name} stands still with quota and work`;
    return undefined;
  }

  private start(job: number): void {
    this.running.push(job, this.workMs + (this.calls.demandMs[job] ?? 0));
  }

  /** Begins the period that holds `nowMs`. What ran since its start has used some of its quota already. */
  private roll(nowMs: number): void {
    const passed = Math.floor((nowMs - this.periodEndMs) / this.periodMs) + 1;
    const beginMs = this.periodEndMs + (passed - 1) * this.periodMs;
    this.periodEndMs = beginMs + this.periodMs;
    const rate = this.speed * this.running.length;
    if (rate > 0) this.periods += passed;
    else if (this.ranInPeriod) this.periods += 1;
    this.ranInPeriod = rate > 0 && nowMs > beginMs;
    this.leftMs = this.quotaMs - rate * (nowMs - beginMs);
  }
}
