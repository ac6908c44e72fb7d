import { mean } from "@tradewind/core/values/statistics.ts";
import type {
  ContainerWindow,
  FlowWindow,
  LatencySummary,
  Window,
  WindowSet,
} from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { standardNormal } from "@tradewind/core/values/rng.ts";
import { MOST_TRACED } from "./application.ts";
import type { Scenario } from "./application.ts";
import type { SeenContainer } from "./container.ts";
import { quantiles } from "./order.ts";
import { seenContainers } from "./truth.ts";
import type { TrueService, TrueState } from "./truth.ts";

const WINDOW_MS = 15_000;
const NAMESPACE = "default";
export const FLOW = "GET /";

/** What no model can explain: how far work, CPU use and interference are off from one window to the next. */
const WORK_NOISE = 0.03;
const CPU_NOISE = 0.03;
const INTERFERENCE_NOISE = 0.02;
const LOAD_NOISE = 0.01;

/** Most of its limit that a container holds: what needs more reads pages again and collects garbage. */
const MOST_RESIDENT = 0.98;

const noisy = (value: number, spread: number, rng: Rng): number =>
  value * Math.exp(spread * standardNormal(rng));

function summary(times: Float64Array): LatencySummary | undefined {
  if (times.length === 0) return undefined;
  const meanSeconds = mean(times);
  const [p50Seconds = 0, p95Seconds = 0, p99Seconds = 0] = quantiles(times, [0.5, 0.95, 0.99]);
  return { count: times.length, meanSeconds, p50Seconds, p95Seconds, p99Seconds };
}

function containerOf({ seen, service, state }: Seen, number: number, rng: Rng): ContainerWindow {
  const { periods, throttledPeriods, usedCpuSeconds } = seen[number % seen.length] as SeenContainer;
  const most = Math.min(state.cpuCores, service.threads);
  const measured = (value: number): { supported: true; value: number } => ({
    supported: true,
    value: Math.min(1, Math.max(0, value + INTERFERENCE_NOISE * standardNormal(rng))),
  });
  return {
    id: `${service.name}-${number}`,
    cpuLimitCores: state.cpuCores,
    cpuUsageCores: Math.min(most, noisy((1e3 * usedCpuSeconds) / WINDOW_MS, CPU_NOISE, rng)),
    cpuThrottledRatio: throttledPeriods / Math.max(1, periods),
    memoryLimitBytes: state.memoryBytes,
    memoryWorkingSetBytes: Math.min(MOST_RESIDENT * state.memoryBytes, service.memoryNeedBytes),
    interference: {
      cpu: measured(state.cpuInterference),
      memoryCapacity: { supported: false },
      memoryBandwidth: measured(state.bandwidthInterference),
      network: { supported: false },
    },
  };
}

/** One service as a window sees it. */
interface Seen {
  readonly service: TrueService;
  readonly state: TrueState;
  /** As many of its containers as serve the requests that are traced. */
  readonly seen: readonly SeenContainer[];
  /** Own times of the traced requests that ended, in any order. */
  readonly own: Float64Array;
  /** Requests per second that came to all of its containers. */
  readonly arrivals: number;
  /** Requests that ended over those that came. */
  readonly servedShare: number;
}

function seenOf(service: TrueService, state: TrueState, rng: Rng): Seen {
  const weather = Math.exp(WORK_NOISE * standardNormal(rng));
  const usual = (state.requestsPerSecond * WINDOW_MS) / 1e3 / state.replicas;
  const containers = Math.max(1, Math.min(state.replicas, Math.ceil(MOST_TRACED / usual)));
  const seen = seenContainers(service, state, { containers, key: Math.trunc(rng() * 2 ** 31), weather });
  const ended = seen.flatMap(({ seconds }) => Array.from(seconds));
  // Every n-th, so that all parts of the window count alike.
  const traced = Math.min(MOST_TRACED, ended.length);
  const own = Float64Array.from(
    { length: traced },
    (_, i) => ended[Math.floor((i * ended.length) / traced)] ?? 0,
  );
  const came = seen.reduce((sum, { arrived }) => sum + arrived, 0);
  return {
    service,
    state,
    seen,
    own,
    arrivals: (came * state.replicas * 1e3) / containers / WINDOW_MS,
    servedShare: ended.length / Math.max(1, came),
  };
}

/**
 * Response times of every service, of requests that find each service as its own traced requests did: those at service 0
 * are end to end.
 */
function responses(seen: readonly Seen[], { traced: graph }: Scenario, rng: Rng): Float64Array[] {
  const count = seen[0]?.own.length ?? 0;
  return graph.respond(
    seen.map(({ own }) =>
      Float64Array.from({ length: count }, () => own[Math.floor(rng() * own.length)] ?? 0),
    ),
  );
}

/** Requests per second that each service answered: those of a caller wait for those that it calls. */
function answeredRates(seen: readonly Seen[], { traced: { calls } }: Scenario): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { service, servedShare } of seen.toReversed()) {
    const called = calls.filter(({ caller }) => caller === service.name);
    shares.set(service.name, Math.min(servedShare, ...called.map(({ callee }) => shares.get(callee) ?? 1)));
  }
  return new Map(seen.map(({ arrivals, service: { name } }) => [name, arrivals * (shares.get(name) ?? 1)]));
}

function windowOf(one: Seen, answered: AnsweredRequests, startMs: number, rng: Rng): Window {
  const { own, service, state } = one;
  const ownLatency = summary(own.slice());
  const responseLatency = summary(answered.responses);
  return {
    namespace: NAMESPACE,
    service: service.name,
    startMs,
    endMs: startMs + WINDOW_MS,
    replicasReady: state.replicas,
    replicasWanted: state.replicas,
    requestsPerSecond: noisy(answered.perSecond, LOAD_NOISE, rng),
    ...(ownLatency && { ownLatency }),
    ...(responseLatency && { responseLatency }),
    callees: [],
    containers: Array.from({ length: state.replicas }, (_, number) => containerOf(one, number, rng)),
  };
}

/** What callers of a service see of it. */
interface AnsweredRequests {
  readonly responses: Float64Array;
  readonly perSecond: number;
}

/**
 * What tracing and the agents would report of one interval: spans that ended in it, of a sample of the requests; at the entry also
 * how many began; and noise on everything.
 */
export function simulatedWindow(
  scenario: Scenario,
  states: readonly TrueState[],
  startMs: number,
  rng: Rng,
): WindowSet {
  const { services } = scenario.truth;
  const seen = services.map((service, i): Seen => {
    const state = states[i];
    if (state === undefined) throw new RangeError(`no state of ${service.name}`);
    return seenOf(service, state, rng);
  });
  const answered = responses(seen, scenario, rng);
  const rates = answeredRates(seen, scenario);
  const [entry] = seen;
  const latency = summary(answered[0]?.slice() ?? new Float64Array());
  if (latency === undefined || entry === undefined) throw new RangeError("a window without a request");
  const windows = seen.map((one, i) => {
    const { name } = one.service;
    const perSecond = rates.get(name) ?? 0;
    return windowOf(one, { responses: answered[i] ?? new Float64Array(), perSecond }, startMs, rng);
  });
  const flow: FlowWindow = {
    flow: FLOW,
    entryService: entry.service.name,
    requestsPerSecond: rates.get(entry.service.name) ?? 0,
    errorRatio: 0,
    latency,
    services: services.map(({ name }) => name),
    calls: [...scenario.traced.calls],
  };
  const [first, ...others] = windows as [Window, ...Window[]];
  const began = { ...first, beganPerSecond: noisy(entry.arrivals, LOAD_NOISE, rng) };
  return { startMs, endMs: startMs + WINDOW_MS, windows: [began, ...others], flows: [flow] };
}

/** Loads, allocations and interference all over the range that a profiling sweep covers, saturation included. */
export function sweptStates(scenario: Scenario, rng: Rng): TrueState[] {
  const surge = 0.4 + 1.4 * rng();
  return scenario.calm.map((calm) => {
    const replicas = Math.max(1, calm.replicas + Math.floor(3 * rng()) - 1);
    return {
      replicas,
      cpuCores: Math.max(0.1, Math.round(10 * calm.cpuCores * (0.6 + 1.2 * rng())) / 10),
      memoryBytes: Math.max(100e6, Math.round((calm.memoryBytes * (0.4 + rng())) / 50e6) * 50e6),
      requestsPerSecond: calm.requestsPerSecond * surge,
      cpuInterference: rng() < 0.4 ? 0.8 * rng() : 0.2 * rng(),
      bandwidthInterference: rng() < 0.4 ? 0.8 * rng() : 0.2 * rng(),
    };
  });
}

/** The calm state under part of its load and with what disturbance a quiet node has. */
export function calmStates(scenario: Scenario, rng: Rng): TrueState[] {
  const share = 0.6 + 0.4 * rng();
  return scenario.calm.map((calm) => ({
    ...calm,
    requestsPerSecond: calm.requestsPerSecond * share,
    cpuInterference: calm.cpuInterference * rng() * 2,
    bandwidthInterference: calm.bandwidthInterference * rng() * 2,
  }));
}

/**
 * A calm application into which something broke: more load, and a few services that are disturbed, short of memory or cut
 * in CPU.
 */
export function disturbedStates(scenario: Scenario, rng: Rng): TrueState[] {
  const surge = 1 + 0.6 * rng();
  const hit = new Set(
    Array.from({ length: 1 + Math.floor(3 * rng()) }, () => Math.floor(rng() * scenario.calm.length)),
  );
  return scenario.calm.map((calm, i) => {
    const state = { ...calm, requestsPerSecond: calm.requestsPerSecond * surge };
    if (!hit.has(i)) return state;
    const kind = rng();
    if (kind < 0.35) return { ...state, cpuInterference: 0.3 + 0.3 * rng() };
    if (kind < 0.6) return { ...state, bandwidthInterference: 0.3 + 0.3 * rng() };
    if (kind < 0.8) {
      return {
        ...state,
        memoryBytes: Math.max(100e6, Math.round((state.memoryBytes * (0.5 + 0.3 * rng())) / 50e6) * 50e6),
      };
    }
    return { ...state, cpuCores: Math.max(0.1, Math.round(10 * state.cpuCores * (0.55 + 0.3 * rng())) / 10) };
  });
}
