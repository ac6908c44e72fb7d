import { CallPool } from "@tradewind/simulator/engine/call-pool.ts";
import { EventHeap } from "@tradewind/simulator/engine/event-heap.ts";
import { Machine } from "@tradewind/simulator/engine/machine.ts";
import { Processor } from "@tradewind/simulator/engine/processor.ts";
import { derive, uniformOf } from "@tradewind/simulator/engine/random.ts";
import { SamplerTable } from "@tradewind/simulator/engine/sampler.ts";
import type { Distribution } from "@tradewind/simulator/model/distribution.ts";

/** What one container gets and does; all of it holds for the whole stretch. */
export interface ContainerWork {
  /** CFS quota, cores. */
  readonly cpuCores: number;
  readonly threads: number;
  readonly requestsPerSecond: number;
  /** CPU time of a request, ms. */
  readonly demand: Distribution;
  /** Each request's CPU time is multiplied by this. */
  readonly workFactor: number;
}

/** Requests of one stretch: those that come first find no queue and are not counted. */
export interface Stretch {
  /** Names its arrivals and demands: the same key, the same requests, whatever the container gets. */
  readonly key: number;
  readonly uncounted: number;
  readonly counted: number;
}

/** What {@link simulateStretch} adds up. */
export interface ContainerUse {
  /** Periods with something to run, and those in which the quota was used up. */
  periods: number;
  throttledPeriods: number;
}

const PERIOD_MS = 100;
const PHASE = 1;
const GAP = 2;
const DEMAND = 3;
/** A container alone on a machine that never is too small. */
const MACHINE_CORES = 1_000;
const SLOT = 0;

/**
 * Runs one container through its requests, by the simulator's processor: CFS periods of 100 ms, requests that share the CPU
 * by threads, Poisson arrivals, which go on until the last counted request is done or half as many more have come.
 * @param into gets the time of each counted request from arrival to end, seconds, from `from` on, as far as it reaches
 */
export function simulateStretch(
  { cpuCores, demand, requestsPerSecond, threads, workFactor }: ContainerWork,
  { counted, key, uncounted }: Stretch,
  into: Float64Array,
  from: number,
): ContainerUse {
  const [events, calls, sampler] = [new EventHeap(), new CallPool(), new SamplerTable()];
  const row = sampler.add(demand);
  const processor = new Processor(
    {
      slot: SLOT,
      machine: new Machine(MACHINE_CORES),
      events,
      calls,
      threads,
      phaseMs: PERIOD_MS * uniformOf(derive(key, PHASE)),
      requestCores: cpuCores,
      limitCores: cpuCores,
      periodMs: PERIOD_MS,
    },
    0,
  );
  const gapMs = 1e3 / requestsPerSecond;
  const end = uncounted + counted;
  const most = end + Math.ceil(end / 2);
  let number = 0;
  let left = counted;
  let arrivalMs = -Math.log(uniformOf(derive(derive(key, 0), GAP))) * gapMs;
  while (left > 0) {
    if (number < most && arrivalMs <= events.nextMs) {
      const request = derive(key, number);
      const call = calls.take();
      calls.demandMs[call] = workFactor * sampler.draw(row, derive(request, DEMAND));
      calls.startMs[call] = arrivalMs;
      calls.spec[call] = number;
      processor.submit(call, arrivalMs);
      number += 1;
      arrivalMs -= Math.log(uniformOf(derive(derive(key, number), GAP))) * gapMs;
    } else {
      const nowMs = events.nextMs;
      events.pop();
      processor.event(nowMs);
      while (calls.someAwake) {
        const call = calls.nextAwake();
        const at = (calls.spec[call] ?? 0) - uncounted;
        if (at >= 0 && at < counted) left -= 1;
        if (at >= 0 && at < counted && from + at < into.length) {
          into[from + at] = (nowMs - (calls.startMs[call] ?? 0)) / 1e3;
        }
        calls.release(call);
      }
    }
  }
  return { periods: processor.periods, throttledPeriods: processor.throttledPeriods };
}
