import { mean } from "@tradewind/core/values/statistics.ts";
import { exponential, seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { ProfileObservation } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { CallPool } from "../../../../simulator/engine/call-pool.ts";
import { EventHeap } from "../../../../simulator/engine/event-heap.ts";
import { Machine } from "../../../../simulator/engine/machine.ts";
import { Processor } from "../../../../simulator/engine/processor.ts";

/** A service as the simulator's processor runs it: the truth that the curve and the filter are held against. */
export interface Truth {
  /** CPU limit; Infinity: none. */
  readonly cores: number;
  /** Most requests on the CPU at once; Infinity: all of them share the node's cores. */
  readonly threads: number;
  /** Cores of the node that the container has to itself. Default 64. */
  readonly nodeCores?: number;
  readonly demandMs: number;
  readonly cv: number;
  readonly housekeepingCores?: number;
  /** Mean and variation of the time off the CPU. */
  readonly baseMs?: number;
  readonly baseCv?: number;
}

const PROCESSOR = 0;
const ARRIVAL = 1;
const BACKGROUND = 2;
const BACKGROUND_MS = 3;

const logNormal = (rng: Rng, mean: number, cv: number): number => {
  const sigma = Math.sqrt(Math.log1p(cv * cv));
  return mean * Math.exp(sigma * standardNormal(rng) - sigma ** 2 / 2);
};

/** One container; time goes on from one call of {@link run} to the next. */
export class SimulatedContainer {
  readonly truth: Truth;
  readonly processor: Processor;
  private readonly rng: Rng;
  private readonly events = new EventHeap();
  private readonly calls = new CallPool();
  private nowMs = 0;
  private readonly beganMs: number[] = [];
  private readonly isRequest: boolean[] = [];

  constructor(truth: Truth, seed: number) {
    this.truth = truth;
    this.rng = seededRng(seed);
    const size = { requestCores: 1, limitCores: truth.cores, periodMs: 100 };
    const machine = new Machine(truth.nodeCores ?? 64);
    this.processor = new Processor(
      {
        ...size,
        slot: PROCESSOR,
        machine,
        events: this.events,
        calls: this.calls,
        threads: truth.threads,
        phaseMs: 0,
      },
      0,
    );
  }

  resize(cores: number): void {
    this.processor.resize({ requestCores: 1, limitCores: cores, periodMs: 100 }, this.nowMs);
  }

  /** Self times, ms, of requests that end within so many seconds at this load, and the CPU used, core seconds; periods as in `cpu.stat`. */
  run(
    requestsPerSecond: number,
    seconds: number,
  ): { latencies: number[]; used: number; periods: number; throttled: number } {
    const { events, calls, processor, rng, truth } = this;
    const endMs = this.nowMs + 1e3 * seconds;
    const { periods, throttledPeriods } = processor;
    const usedBefore = processor.usedUntil(this.nowMs);
    const latencies: number[] = [];
    const gapMs = 1e3 / requestsPerSecond;
    const backgroundMs = BACKGROUND_MS / (truth.housekeepingCores ?? 0);
    if (requestsPerSecond > 0) events.set(ARRIVAL, this.nowMs + exponential(rng, gapMs));
    if (Number.isFinite(backgroundMs)) events.set(BACKGROUND, this.nowMs + exponential(rng, backgroundMs));
    while (events.nextMs < endMs) {
      const atMs = events.nextMs;
      const slot = events.pop();
      if (slot === PROCESSOR) processor.event(atMs);
      else {
        const call = calls.take();
        this.beganMs[call] = atMs;
        this.isRequest[call] = slot === ARRIVAL;
        calls.demandMs[call] = slot === ARRIVAL ? logNormal(rng, truth.demandMs, truth.cv) : BACKGROUND_MS;
        events.set(slot, atMs + exponential(rng, slot === ARRIVAL ? gapMs : backgroundMs));
        processor.submit(call, atMs);
      }
      while (calls.someAwake) {
        const call = calls.nextAwake();
        if (this.isRequest[call] === true) {
          const base = truth.baseMs === undefined ? 0 : logNormal(rng, truth.baseMs, truth.baseCv ?? 0.5);
          latencies.push(atMs - (this.beganMs[call] ?? 0) + base);
        }
        calls.release(call);
      }
    }
    events.remove(ARRIVAL);
    events.remove(BACKGROUND);
    this.nowMs = endMs;
    return {
      latencies,
      used: (processor.usedUntil(endMs) - usedBefore) / 1e3,
      periods: processor.periods - periods,
      throttled: processor.throttledPeriods - throttledPeriods,
    };
  }
}

export function quantileOf(values: readonly number[], ratio: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(ratio * sorted.length))] ?? NaN;
}

/** Windows of a service of some containers under one load, as the predictor sees them. */
export class SimulatedService {
  private readonly containers: SimulatedContainer[];
  private atMs = 0;
  private cores: number;

  constructor(truth: Truth, count: number, seed: number) {
    this.cores = truth.cores;
    this.containers = Array.from(
      { length: count },
      (_, i) => new SimulatedContainer(truth, 1_000 * seed + i),
    );
  }

  resize(cores: number): void {
    this.cores = cores;
    for (const each of this.containers) each.resize(cores);
  }

  window(loadPerContainer: number, windowSeconds = 15): ProfileObservation {
    const parts = this.containers.map((each) => each.run(loadPerContainer, windowSeconds));
    const latencies = parts.flatMap((part) => part.latencies);
    this.atMs += 1e3 * windowSeconds;
    const periods = parts.reduce((sum, part) => sum + part.periods, 0);
    const throttled = parts.reduce((sum, part) => sum + part.throttled, 0);
    return {
      atMs: this.atMs,
      windowSeconds,
      cpuCores: Number.isFinite(this.cores) ? this.cores : undefined,
      cpuUsageCores: mean(parts.map(({ used }) => used)) / windowSeconds,
      loadPerContainer: latencies.length / windowSeconds / parts.length,
      calls: latencies.length,
      throttledRatio: throttled / Math.max(1, periods),
      ...(latencies.length > 0 && {
        meanSeconds: mean(latencies) / 1e3,
        p50Seconds: quantileOf(latencies, 0.5) / 1e3,
        p95Seconds: quantileOf(latencies, 0.95) / 1e3,
        p99Seconds: quantileOf(latencies, 0.99) / 1e3,
      }),
    };
  }
}
