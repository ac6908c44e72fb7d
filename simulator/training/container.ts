import { exponential, seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { JobHeap } from "../engine/job-heap.ts";

/** What a service does with a request and how its containers run it; drawn by prior.ts. */
export interface TrainingService {
  /** Mean CPU time of a request, s. */
  readonly demandSeconds: number;
  /** Standard deviation of ln CPU time among requests of one kind. */
  readonly demandSpread: number;
  /** Share of heavy requests (missed caches, other routes), and what they take over what light ones do. */
  readonly heavyShare: number;
  readonly heavyFactor: number;
  /** Cores that the program can use at once, >= 1. */
  readonly cores: number;
  /** Requests in work at once; the others wait in order. */
  readonly threads: number;
  /** Mean time off the CPU, s, and the standard deviation of its logarithm; 0: none. */
  readonly waitSeconds: number;
  readonly waitSpread: number;
  /** Whether a thread is held through the time off the CPU. */
  readonly holdsThread: boolean;
  /** Connections for the time off the CPU; Infinity: as many as wanted. */
  readonly connections: number;
  /** Share of the demand that one request at a time may do. */
  readonly lockedShare: number;
  /** CPU seconds between two collections that stop all requests, and how long one takes, s; Infinity: none. */
  readonly collectEverySeconds: number;
  readonly collectSeconds: number;
  /** CPU beside the requests, cores. */
  readonly housekeepingCores: number;
}

/** What one container gets and bears; it can be changed while it runs. */
export interface Condition {
  /** CFS quota, cores; Infinity: none. */
  readonly quotaCores: number;
  readonly requestsPerSecond: number;
  /** Factor on the CPU time of each request. */
  readonly workFactor: number;
}

/** Gets each request that ends: seconds from its arrival, and how long it waited for a thread. */
export type OnEnd = (number: number, seconds: number, queuedSeconds: number) => void;

const PERIOD_SECONDS = 0.1;
/** The kernel never gives less of a period than this, s. */
const LEAST_QUOTA_SECONDS = 0.0005;
/** Cores that a collection uses. */
const COLLECTING_CORES = 2;
const NONE = -1;

/** What can happen next, in the order in which it does where several are due at once. */
const EVENT = { period: 0, done: 1, unlocked: 2, off: 3, collected: 4, throttled: 5, arrival: 6 } as const;
const EVENTS = 7;

/** What the random numbers of a request are for. */
const GAPS = 1;
const DEMANDS = 2;
const WAITS = 3;

/**
 * One container by events: CFS periods, requests that share its cores evenly, threads, time off the CPU with a pool of connections, a
 * section under a lock, collections. Much faster than the engine, which has machines, calls and pods as well; test/simulator/training holds
 * the two against each other. The n-th request is the same for one key, whatever the container gets.
 */
export class TrainingContainer {
  /** When each event is due, seconds. */
  private readonly due = new Float64Array(EVENTS);
  readonly service: TrainingService;
  condition: Condition;
  now = 0;
  usedSeconds = 0;
  /** Periods with something to run, and those in which the quota was used up. */
  periods = 0;
  throttledPeriods = 0;
  arrived = 0;
  private readonly gaps: Rng;
  private readonly demands: Rng;
  private readonly waits: Rng;
  private readonly onEnd: OnEnd;
  private nextArrival: number;
  /** What each request on the CPU has had since it began; one is done at its own mark. */
  private work = 0;
  private readonly running = new JobHeap();
  private readonly waiting = new JobHeap();
  private readonly forThread: number[] = [];
  private readonly forConnection: number[] = [];
  private readonly forLock: number[] = [];
  private connectionsInUse = 0;
  private threadsInUse = 0;
  private locked = NONE;
  private lockLeft = 0;
  private collectLeft = 0;
  private sinceCollection = 0;
  private left: number;
  private periodEnd = PERIOD_SECONDS;
  private ranInPeriod = false;
  private isThrottled = false;
  private readonly starts: Float64Array;
  private readonly queued: Float64Array;
  private readonly marks: Float64Array;
  private readonly offs: Float64Array;

  /** @param rings containers that run one after the other may share them */
  constructor(
    service: TrainingService,
    condition: Condition,
    key: number,
    onEnd: OnEnd,
    rings = emptyRings(),
  ) {
    ({ starts: this.starts, queued: this.queued, marks: this.marks, offs: this.offs } = rings);
    this.service = service;
    this.condition = condition;
    this.onEnd = onEnd;
    this.gaps = seededRng(key + GAPS);
    this.demands = seededRng(key + DEMANDS);
    this.waits = seededRng(key + WAITS);
    this.left = this.quota();
    this.nextArrival = this.gap();
  }

  /** Requests of it that have not ended are no more than this. */
  get unended(): number {
    return this.threadsInUse + this.forThread.length + this.waiting.length + this.forConnection.length;
  }

  /** Other conditions from now on. */
  change(condition: Condition): void {
    if (condition.requestsPerSecond !== this.condition.requestsPerSecond) {
      const share = this.condition.requestsPerSecond / condition.requestsPerSecond;
      this.nextArrival = this.now + (this.nextArrival - this.now) * share;
    }
    this.condition = condition;
  }

  /** @param most requests that come at all */
  runUntil(end: number, most = Infinity): void {
    while (this.now < end) this.step(end, most);
  }

  private step(end: number, most: number): void {
    const { running, service } = this;
    const isCollecting = this.collectLeft > 0;
    const runs = !this.isThrottled && !isCollecting;
    const busy = runs ? Math.min(running.length, service.cores) : 0;
    const speed = busy > 0 ? busy / running.length : 0;
    const locking = runs && this.locked !== NONE ? 1 : 0;
    const collecting = isCollecting && !this.isThrottled ? Math.min(service.cores, COLLECTING_CORES) : 0;
    const use = busy + locking + collecting;
    this.foresee(speed, use, most);
    if (locking > 0) this.due[EVENT.unlocked] = this.now + this.lockLeft;
    if (collecting > 0) this.due[EVENT.collected] = this.now + this.collectLeft;
    let event = 0;
    for (let other = 1; other < EVENTS; other += 1)
      if ((this.due[other] ?? Infinity) < (this.due[event] ?? Infinity)) event = other;
    const soonest = this.due[event] ?? Infinity;
    const at = Math.min(end, soonest);
    const passed = at > this.now ? at - this.now : 0;
    this.work += speed * passed;
    this.usedSeconds += use * passed;
    this.sinceCollection += use * passed;
    this.left -= use * passed;
    if (use > 0) this.ranInPeriod = true;
    if (locking > 0) this.lockLeft -= passed;
    if (collecting > 0) this.collectLeft -= passed;
    this.now = at;
    if (soonest <= end) this.take(event);
  }

  /** When each event is due at these speeds, but for those of locks and collections. */
  private foresee(speed: number, use: number, most: number): void {
    const { due, now, running, waiting } = this;
    const isLimited = this.condition.quotaCores < Infinity;
    due[EVENT.period] = isLimited && (use > 0 || this.isThrottled) ? this.periodEnd : Infinity;
    due[EVENT.done] = speed > 0 ? now + (running.least - this.work) / speed : Infinity;
    due[EVENT.unlocked] = Infinity;
    due[EVENT.off] = waiting.length > 0 ? waiting.least : Infinity;
    due[EVENT.collected] = Infinity;
    due[EVENT.throttled] = isLimited && use > 0 ? now + this.left / use : Infinity;
    due[EVENT.arrival] = this.arrived < most ? this.nextArrival : Infinity;
  }

  private take(event: number): void {
    if (event === EVENT.period) this.beginPeriod(1);
    else if (event === EVENT.done) this.leaveCpu();
    else if (event === EVENT.unlocked) this.unlock();
    else if (event === EVENT.off) this.comeBack();
    else if (event === EVENT.collected) this.collectLeft = 0;
    else if (event === EVENT.throttled) this.isThrottled = true;
    else this.arrive();
  }

  private quota(): number {
    const { condition, service } = this;
    return Math.max(LEAST_QUOTA_SECONDS, (condition.quotaCores - service.housekeepingCores) * PERIOD_SECONDS);
  }

  private gap(): number {
    return exponential(this.gaps, 1 / this.condition.requestsPerSecond);
  }

  private beginPeriod(passed: number): void {
    if (this.ranInPeriod) this.periods += 1;
    if (this.isThrottled) this.throttledPeriods += 1;
    this.ranInPeriod = false;
    this.isThrottled = false;
    this.left = this.quota();
    this.periodEnd += passed * PERIOD_SECONDS;
  }

  /** A container that was idle through the end of its period has a new quota. */
  private wake(): void {
    if (this.now >= this.periodEnd)
      this.beginPeriod(Math.floor((this.now - this.periodEnd) / PERIOD_SECONDS) + 1);
  }

  private arrive(): void {
    this.wake();
    const { service } = this;
    if (this.unended >= MOST_UNENDED) {
      this.nextArrival = this.now + this.gap();
      return;
    }
    const number = this.arrived;
    const slot = number % RING;
    this.arrived += 1;
    this.starts[slot] = this.now;
    this.queued[slot] = 0;
    this.marks[slot] = this.drawDemand();
    this.offs[slot] = service.waitSeconds > 0 ? this.drawWait() : 0;
    if (service.waitSeconds > 0 && !service.holdsThread) this.leave(number);
    else this.askThread(number);
    this.nextArrival = this.now + this.gap();
  }

  private drawDemand(): number {
    const { demandSeconds, demandSpread: spread, heavyFactor, heavyShare } = this.service;
    const isHeavy = this.demands() < heavyShare;
    const light = demandSeconds / (1 + heavyShare * (heavyFactor - 1));
    const one = Math.exp(spread * standardNormal(this.demands) - (spread * spread) / 2);
    return light * one * (isHeavy ? heavyFactor : 1) * this.condition.workFactor;
  }

  private drawWait(): number {
    const { waitSeconds, waitSpread: spread } = this.service;
    return waitSeconds * Math.exp(spread * standardNormal(this.waits) - (spread * spread) / 2);
  }

  private askThread(number: number): void {
    if (this.threadsInUse >= this.service.threads) {
      this.forThread.push(number);
      this.queued[number % RING] = -this.now;
      return;
    }
    this.threadsInUse += 1;
    this.begin(number);
  }

  private begin(number: number): void {
    const slot = number % RING;
    const since = this.queued[slot] as number;
    if (since < 0) this.queued[slot] = this.now + since;
    if (this.service.waitSeconds > 0 && this.service.holdsThread) this.leave(number);
    else this.toCpu(number);
  }

  private toCpu(number: number): void {
    this.wake();
    const own = (this.marks[number % RING] as number) * (1 - this.service.lockedShare);
    this.running.push(number, this.work + own);
  }

  private leave(number: number): void {
    if (this.connectionsInUse >= this.service.connections) {
      this.forConnection.push(number);
      return;
    }
    this.connectionsInUse += 1;
    this.waiting.push(number, this.now + (this.offs[number % RING] as number));
  }

  private comeBack(): void {
    const number = this.waiting.pop();
    this.connectionsInUse -= 1;
    const next = this.forConnection.shift();
    if (next !== undefined) this.leave(next);
    if (this.service.holdsThread) this.toCpu(number);
    else this.askThread(number);
  }

  private leaveCpu(): void {
    const number = this.running.pop();
    if (this.running.length === 0) this.work = 0;
    if (this.sinceCollection > this.service.collectEverySeconds) {
      this.sinceCollection = 0;
      this.collectLeft = this.service.collectSeconds;
    }
    if (this.service.lockedShare === 0) this.finish(number);
    else if (this.locked === NONE) this.lock(number);
    else this.forLock.push(number);
  }

  private lock(number: number): void {
    this.locked = number;
    this.lockLeft = (this.marks[number % RING] as number) * this.service.lockedShare;
  }

  private unlock(): void {
    const number = this.locked;
    const next = this.forLock.shift();
    if (next === undefined) this.locked = NONE;
    else this.lock(next);
    this.finish(number);
  }

  private finish(number: number): void {
    const slot = number % RING;
    this.onEnd(number, this.now - (this.starts[slot] as number), this.queued[slot] as number);
    const next = this.forThread.shift();
    if (next === undefined) this.threadsInUse -= 1;
    else this.begin(next);
  }
}

/** Callers of a container with so many requests are turned away. */
const MOST_UNENDED = 4_000;
/** Requests kept at once: those that came after the oldest one that has not ended. */
const RING = 16_384;

/** What is kept of each request, by its number in a ring. */
interface Rings {
  readonly starts: Float64Array;
  readonly queued: Float64Array;
  readonly marks: Float64Array;
  readonly offs: Float64Array;
}

export const emptyRings = (): Rings => ({
  starts: new Float64Array(RING),
  queued: new Float64Array(RING),
  marks: new Float64Array(RING),
  offs: new Float64Array(RING),
});
