import { derive, uniformOf } from "@tradewind/simulator/engine/random.ts";
import { meanOf } from "@tradewind/simulator/model/distribution.ts";
import type { Distribution } from "@tradewind/simulator/model/distribution.ts";
import { seeContainer, simulateStretch } from "./container.ts";
import type { ContainerUse, ContainerWork, SeenContainer } from "./container.ts";

/** What a simulated service really is; the models under test see only noisy windows of it. */
export interface TrueService {
  readonly name: string;
  /** CPU time of a request, ms; light and heavy ones mixed in many services. */
  readonly demand: Distribution;
  /** Requests that a container runs at once; the others wait in order. */
  readonly threads: number;
  /** Mean time spent waiting for something outside (disk, remote), exponential, seconds: no resource shortens it. */
  readonly outsideSeconds: number;
  readonly memoryNeedBytes: number;
  /** How much dearer work is at full CPU interference, and at full memory-bandwidth interference. */
  readonly cpuSensitivity: number;
  readonly bandwidthSensitivity: number;
}

/** What a container of a service gets and bears. */
export interface TrueState {
  readonly replicas: number;
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** Load of the whole service. */
  readonly requestsPerSecond: number;
  readonly cpuInterference: number;
  readonly bandwidthInterference: number;
}

/** Memory matters from this share of its limit on that a service needs; with more it has no effect at all. */
const MEMORY_ENOUGH = 0.85;
/** Work added when all of the limit is needed is 0.15 times this: collections of garbage and pages that are read again. */
const MEMORY_SLOPE = 4;

/** Factor on the work of a request that memory makes: 1 with enough of it, 1.6 where need is the limit, 3.2 at 1.4 times that. */
export function memoryFactor({ memoryNeedBytes }: TrueService, { memoryBytes }: TrueState): number {
  return 1 + MEMORY_SLOPE * Math.max(0, memoryNeedBytes / memoryBytes - MEMORY_ENOUGH);
}

/** Factor on the CPU time of a request that its container's state makes. */
export function workFactor(service: TrueService, state: TrueState): number {
  return (
    memoryFactor(service, state) *
    (1 + service.cpuSensitivity * state.cpuInterference ** 1.5) *
    (1 + service.bandwidthSensitivity * state.bandwidthInterference ** 2)
  );
}

/** CPU seconds of one request in the state given. */
export function workSeconds(service: TrueService, state: TrueState): number {
  return (meanOf(service.demand) / 1e3) * workFactor(service, state);
}

/** Seconds that a state holds in a container before its requests count, and while they do: a window. */
const UNCOUNTED_SECONDS = 5;
const COUNTED_SECONDS = 15;
const SEEN_MS = [1e3 * UNCOUNTED_SECONDS, 1e3 * (UNCOUNTED_SECONDS + COUNTED_SECONDS)] as const;

const OUTSIDE = 4;

/** Requests of one container in one window, by the load of each; as many before and after a step, so that pairs stay equal. */
export interface Requests {
  readonly uncounted: number;
  readonly counted: number;
}

export function requestsOf({ replicas, requestsPerSecond }: TrueState): Requests {
  const each = requestsPerSecond / replicas;
  return {
    uncounted: Math.round(UNCOUNTED_SECONDS * each),
    counted: Math.max(1, Math.round(COUNTED_SECONDS * each)),
  };
}

/** Own times of requests, and the periods of the containers that served them. */
export interface OwnTimes extends ContainerUse {
  readonly seconds: Float64Array;
}

/**
 * Own times of `count` requests to one service: containers with a CFS quota and threads are run through a window each until
 * there are enough; an overloaded one gathers a backlog for as long as a window lasts.
 * @param key names arrivals and demands
 */
export function ownTimes(
  service: TrueService,
  state: TrueState,
  { count, key, requests = requestsOf(state) }: OwnTimesOf,
): OwnTimes {
  const seconds = new Float64Array(count);
  const use = { periods: 0, throttledPeriods: 0 };
  const work = workOf(service, state, 1);
  for (let from = 0, at = 0; from < count; from += requests.counted, at += 1) {
    const { periods, throttledPeriods } = simulateStretch(
      work,
      { key: derive(key, at), ...requests },
      seconds,
      from,
    );
    use.periods += periods;
    use.throttledPeriods += throttledPeriods;
  }
  waitOutside(service, key, seconds);
  return { seconds, ...use };
}

const workOf = (service: TrueService, state: TrueState, weather: number): ContainerWork => ({
  demand: service.demand,
  threads: service.threads,
  cpuCores: state.cpuCores,
  requestsPerSecond: state.requestsPerSecond / state.replicas,
  workFactor: weather * workFactor(service, state),
});

function waitOutside({ outsideSeconds }: TrueService, key: number, seconds: Float64Array): void {
  if (outsideSeconds === 0) return;
  const waits = derive(key, -OUTSIDE);
  for (let i = 0; i < seconds.length; i += 1) {
    seconds[i] = (seconds[i] ?? 0) - outsideSeconds * Math.log(uniformOf(derive(waits, i)));
  }
}

/**
 * What is seen of containers in one window: the requests that ended in it, and the CPU that was used in it. An overloaded one ends
 * fewer requests than come.
 * @param containers so many are run
 * @param weather factor on the work that no model can know of
 */
export function seenContainers(
  service: TrueService,
  state: TrueState,
  { containers, key, weather }: SeenOf,
): SeenContainer[] {
  const work = workOf(service, state, weather);
  return Array.from({ length: containers }, (_, at) => {
    const seen = seeContainer(work, derive(key, at), SEEN_MS);
    const seconds = Float64Array.from(seen.seconds);
    waitOutside(service, derive(key, at), seconds);
    return { ...seen, seconds };
  });
}

export interface SeenOf {
  readonly containers: number;
  readonly key: number;
  readonly weather: number;
}

export interface OwnTimesOf {
  readonly count: number;
  readonly key: number;
  readonly requests?: Requests;
}
