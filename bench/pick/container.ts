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

/** CFS periods of containers. */
export interface ContainerUse {
  /** Periods with something to run, and those in which the quota was used up. */
  periods: number;
  throttledPeriods: number;
}

/** What is seen of one container in an interval. */
export interface SeenContainer extends ContainerUse {
  /** Times from arrival to end of the requests that ended in it, in this order, seconds. */
  readonly seconds: ArrayLike<number>;
  /** Requests that came in it. */
  readonly arrived: number;
  readonly usedCpuSeconds: number;
}

const PERIOD_MS = 100;
const PHASE = 1;
const GAP = 2;
const DEMAND = 3;
/** A container alone on a machine that never is too small. */
const MACHINE_CORES = 1_000;
const SLOT = 0;

/**
 * One container and the requests that come to it, by the simulator's processor: CFS periods of 100 ms, requests that share the
 * CPU by threads, Poisson arrivals.
 */
class RunningContainer {
  readonly processor: Processor;
  /** Requests that have come. */
  arrived = 0;
  private readonly events = new EventHeap();
  private readonly calls = new CallPool();
  private readonly sampler = new SamplerTable();
  private readonly row: number;
  private readonly work: ContainerWork;
  private readonly key: number;
  private arrivalMs = 0;

  constructor(work: ContainerWork, key: number) {
    this.work = work;
    this.key = key;
    this.row = this.sampler.add(work.demand);
    this.processor = new Processor(
      {
        slot: SLOT,
        machine: new Machine(MACHINE_CORES),
        events: this.events,
        calls: this.calls,
        threads: work.threads,
        phaseMs: PERIOD_MS * uniformOf(derive(key, PHASE)),
        requestCores: work.cpuCores,
        limitCores: work.cpuCores,
        periodMs: PERIOD_MS,
      },
      0,
    );
    this.arrivalMs = this.gapMs();
  }

  /** When something happens next. @param isOpen whether requests still come */
  nextMs(isOpen: boolean): number {
    return isOpen ? Math.min(this.arrivalMs, this.events.nextMs) : this.events.nextMs;
  }

  /** What happens next. @param onEnd gets each request that ends: its number, arrival and end */
  step(isOpen: boolean, onEnd: (number: number, startMs: number, endMs: number) => void): void {
    const { calls, events, processor } = this;
    if (isOpen && this.arrivalMs <= events.nextMs) {
      this.arrive();
      return;
    }
    const nowMs = events.nextMs;
    events.pop();
    processor.event(nowMs);
    while (calls.someAwake) {
      const call = calls.nextAwake();
      onEnd(calls.spec[call] ?? 0, calls.startMs[call] ?? 0, nowMs);
      calls.release(call);
    }
  }

  private arrive(): void {
    const { arrivalMs, arrived, calls, work } = this;
    const call = calls.take();
    const request = derive(this.key, arrived);
    calls.demandMs[call] = work.workFactor * this.sampler.draw(this.row, derive(request, DEMAND));
    calls.startMs[call] = arrivalMs;
    calls.spec[call] = arrived;
    this.processor.submit(call, arrivalMs);
    this.arrived += 1;
    this.arrivalMs += this.gapMs();
  }

  private gapMs(): number {
    const request = derive(this.key, this.arrived);
    return (-Math.log(uniformOf(derive(request, GAP))) * 1e3) / this.work.requestsPerSecond;
  }
}

/**
 * Runs one container through its requests, which go on until the last counted one is done or half as many more have come.
 * @param into gets the time of each counted request from arrival to end, seconds, from `from` on, as far as it reaches
 */
export function simulateStretch(
  work: ContainerWork,
  { counted, key, uncounted }: Stretch,
  into: Float64Array,
  from: number,
): ContainerUse {
  const container = new RunningContainer(work, key);
  const end = uncounted + counted;
  const most = end + Math.ceil(end / 2);
  const counts = { left: counted };
  while (counts.left > 0) {
    container.step(container.arrived < most, (number, startMs, endMs) => {
      const at = number - uncounted;
      if (at < 0 || at >= counted) return;
      counts.left -= 1;
      if (from + at < into.length) into[from + at] = (endMs - startMs) / 1e3;
    });
  }
  const { periods, throttledPeriods } = container.processor;
  return { periods, throttledPeriods };
}

/** What is seen from `fromMs` to `untilMs` of a container that is idle at 0: requests that end later are not. */
export function seeContainer(
  work: ContainerWork,
  key: number,
  [fromMs, untilMs]: readonly [number, number],
): SeenContainer {
  const container = new RunningContainer(work, key);
  const { processor } = container;
  const seconds: number[] = [];
  const ignore = (): void => undefined;
  while (container.nextMs(true) < fromMs) container.step(true, ignore);
  const usedMs = processor.usedUntil(fromMs);
  const { periods, throttledPeriods } = processor;
  const before = container.arrived;
  while (container.nextMs(true) < untilMs)
    container.step(true, (_, startMs, endMs) => seconds.push((endMs - startMs) / 1e3));
  return {
    seconds,
    arrived: container.arrived - before,
    usedCpuSeconds: (processor.usedUntil(untilMs) - usedMs) / 1e3,
    periods: processor.periods - periods,
    throttledPeriods: processor.throttledPeriods - throttledPeriods,
  };
}
