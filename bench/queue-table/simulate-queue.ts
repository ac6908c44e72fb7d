import { JobHeap } from "@tradewind/simulator/engine/job-heap.ts";
import { mean } from "@tradewind/core/values/statistics.ts";
import { exponential, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

/** One container, in units of its mean demand. */
export interface SimulatedQueue {
  /** Load over capacity, in (0, 1). */
  readonly utilisation: number;
  /** Cores of the quota over parallelism; 1: no quota. */
  readonly quotaShare: number;
  readonly periodDemands: number;
  readonly parallelism: number;
  /** No more requests run than there are cores, the others wait in order (one thread a core); else all share the cores. */
  readonly isInOrder: boolean;
}

/** Random numbers of a run, both with mean 1. */
export interface QueueDraws {
  readonly gaps: Float64Array;
  readonly demands: Float64Array;
}

/**
 * Poisson gaps and log-normal demands. Their means (and the spread of the demands' logarithms) are made exactly what they
 * are drawn with, so that no run has a little more load than it should.
 */
export function drawQueue(rng: Rng, count: number, variation: number): QueueDraws {
  const gaps = Float64Array.from({ length: count }, () => exponential(rng, 1));
  const normals = Float64Array.from({ length: count }, () => standardNormal(rng));
  const center = mean(normals);
  const spread = Math.sqrt(mean(normals.map((each) => (each - center) ** 2)));
  const sigma = Math.sqrt(Math.log1p(variation ** 2));
  const demands = normals.map((each) => Math.exp((sigma * (each - center)) / spread));
  return { gaps: toMeanOne(gaps), demands: toMeanOne(demands) };
}

function toMeanOne(values: Float64Array): Float64Array {
  const middle = mean(values);
  return values.map((each) => each / middle);
}

/** A request alone: `phase` in [0, 1) is where in the CFS period it arrives, with the whole quota left. */
export function responseAlone(
  demand: number,
  phase: number,
  { parallelism, periodDemands, quotaShare }: SimulatedQueue,
): number {
  const quota = quotaShare * parallelism * periodDemands;
  if (quotaShare >= 1 || quota >= periodDemands) return demand;
  const untilPeriod = (1 - phase) * periodDemands;
  const first = Math.min(untilPeriod, quota);
  if (demand <= first) return demand;
  const rest = demand - first;
  const periods = Math.ceil(rest / quota) - 1;
  return untilPeriod + periods * periodDemands + (rest - periods * quota);
}

/**
 * Response times, in order of arrival, of a container whose requests share `parallelism` cores evenly, at most one core
 * each, until the quota of the CFS period is used; then all stall until the next period. The rules are those of the
 * processor of simulator/engine, by an implementation of its own.
 */
export function simulateQueue(model: SimulatedQueue, draws: QueueDraws): Float64Array {
  return new QueueRun(model, draws).run();
}

class QueueRun {
  private readonly draws: QueueDraws;
  private readonly count: number;
  private readonly parallelism: number;
  private readonly period: number;
  private readonly quota: number;
  /** Mean time between arrivals. */
  private readonly gap: number;
  /** Most requests that run at once. */
  private readonly most: number;
  private readonly responses: Float64Array;
  private readonly arrivals: Float64Array;
  private readonly jobs = new JobHeap();
  private now = 0;
  /** What each job that ran all the time has had; a job is done at its own mark. */
  private work = 0;
  private left: number;
  private periodEnd: number;
  private isStalled = false;
  private arrived = 0;
  private started = 0;
  private next: number;

  constructor(model: SimulatedQueue, draws: QueueDraws) {
    const { isInOrder, parallelism, periodDemands, quotaShare, utilisation } = model;
    this.draws = draws;
    this.count = draws.gaps.length;
    this.parallelism = parallelism;
    this.period = periodDemands;
    this.quota = quotaShare < 1 ? quotaShare * parallelism * periodDemands : Infinity;
    this.gap = 1 / (utilisation * quotaShare * parallelism);
    this.most = isInOrder ? parallelism : Infinity;
    this.responses = new Float64Array(this.count);
    this.arrivals = new Float64Array(this.count);
    this.left = this.quota;
    this.periodEnd = quotaShare < 1 ? periodDemands : Infinity;
    this.next = this.gap * (draws.gaps[0] ?? 0);
  }

  run(): Float64Array {
    const { jobs } = this;
    while (this.arrived < this.count || jobs.length > 0) {
      const running = jobs.length;
      const speed = this.isStalled || running === 0 ? 0 : Math.min(1, this.parallelism / running);
      const doneAt = speed > 0 ? this.now + (jobs.least - this.work) / speed : Infinity;
      const stallAt = speed > 0 ? this.now + this.left / (speed * running) : Infinity;
      const periodAt = running > 0 ? this.periodEnd : Infinity;
      const at = Math.min(this.next, doneAt, stallAt, periodAt);
      this.work += speed * (at - this.now);
      this.left -= speed * running * (at - this.now);
      this.now = at;
      if (at === periodAt) this.beginPeriod(1);
      else if (at === doneAt) this.finish();
      else if (at === stallAt) this.isStalled = true;
      else this.arrive();
    }
    return this.responses;
  }

  private beginPeriod(passed: number): void {
    this.left = this.quota;
    this.isStalled = false;
    this.periodEnd += passed * this.period;
  }

  private finish(): void {
    const job = this.jobs.pop();
    this.responses[job] = this.now - (this.arrivals[job] ?? 0);
    if (this.jobs.length === 0) this.work = 0;
    if (this.started < this.arrived) this.start();
  }

  private arrive(): void {
    const { arrived, count } = this;
    if (this.jobs.length === 0 && this.now >= this.periodEnd) {
      this.beginPeriod(Math.floor((this.now - this.periodEnd) / this.period) + 1);
    }
    this.arrivals[arrived] = this.now;
    this.arrived += 1;
    if (this.jobs.length < this.most) this.start();
    this.next = this.arrived < count ? this.now + this.gap * (this.draws.gaps[this.arrived] ?? 0) : Infinity;
  }

  private start(): void {
    this.jobs.push(this.started, this.work + (this.draws.demands[this.started] ?? 0));
    this.started += 1;
  }
}
