import type {
  ContainerWindow,
  FlowWindow,
  LatencySummary,
  Window,
  WindowSet,
} from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import { standardNormal } from "@tradewind/core/rng.ts";
import { MOST_TRACED } from "./application.ts";
import type { Scenario } from "./application.ts";
import { quantiles } from "./order.ts";
import { ownTimes, workSeconds } from "./truth.ts";
import type { OwnTimes, TrueService, TrueState } from "./truth.ts";

const WINDOW_MS = 15_000;
const NAMESPACE = "default";
export const FLOW = "GET /";

/** What no model can explain: how far work, CPU use and interference are off from one window to the next. */
const WORK_NOISE = 0.03;
const CPU_NOISE = 0.03;
const INTERFERENCE_NOISE = 0.02;

/** Most of its limit that a container holds: what needs more reads pages again and collects garbage. */
const MOST_RESIDENT = 0.98;

const noisy = (value: number, spread: number, rng: Rng): number =>
  value * Math.exp(spread * standardNormal(rng));

function summary(times: Float64Array): LatencySummary | undefined {
  if (times.length === 0) return undefined;
  const meanSeconds = times.reduce((sum, time) => sum + time, 0) / times.length;
  const [p50Seconds = 0, p95Seconds = 0, p99Seconds = 0] = quantiles(times, [0.5, 0.95, 0.99]);
  return { count: times.length, meanSeconds, p50Seconds, p95Seconds, p99Seconds };
}

function containerOf(
  service: TrueService,
  state: TrueState,
  { number, throttledRatio, weather }: { number: number; throttledRatio: number; weather: number },
  rng: Rng,
): ContainerWindow {
  const load = state.requestsPerSecond / state.replicas;
  const used = load * weather * workSeconds(service, state);
  const most = Math.min(state.cpuCores, service.threads);
  const seen = (value: number): { supported: true; value: number } => ({
    supported: true,
    value: Math.min(1, Math.max(0, value + INTERFERENCE_NOISE * standardNormal(rng))),
  });
  return {
    id: `${service.name}-${number}`,
    cpuLimitCores: state.cpuCores,
    cpuUsageCores: Math.min(most, noisy(used, CPU_NOISE, rng)),
    cpuThrottledRatio: throttledRatio,
    memoryLimitBytes: state.memoryBytes,
    memoryWorkingSetBytes: Math.min(MOST_RESIDENT * state.memoryBytes, service.memoryNeedBytes),
    interference: {
      cpu: seen(state.cpuInterference),
      memoryCapacity: { supported: false },
      memoryBandwidth: seen(state.bandwidthInterference),
      network: { supported: false },
    },
  };
}

/** Own times of the requests that tracing keeps of one service, and how often its containers were throttled. */
function tracedOf(service: TrueService, state: TrueState, weather: number, rng: Rng): OwnTimes {
  const count = Math.min(MOST_TRACED, Math.round((state.requestsPerSecond * WINDOW_MS) / 1e3));
  return ownTimes(service, state, { count, key: Math.trunc(rng() * 2 ** 31), weather });
}

/** End-to-end times of requests that find each service as its own traced requests did. */
function endToEnd(traced: readonly OwnTimes[], { traced: graph }: Scenario, rng: Rng): Float64Array {
  const count = traced[0]?.seconds.length ?? 0;
  const own = traced.map(({ seconds }) =>
    Float64Array.from({ length: count }, () => seconds[Math.floor(rng() * seconds.length)] ?? 0),
  );
  return graph.respond(own)[0] ?? new Float64Array();
}

/** One service as a window sees it. */
interface Seen {
  readonly service: TrueService;
  readonly state: TrueState;
  readonly weather: number;
  readonly times: OwnTimes;
}

function windowOf({ service, state, times, weather }: Seen, startMs: number, rng: Rng): Window {
  const ownLatency = summary(times.seconds.slice());
  const throttledRatio = times.throttledPeriods / Math.max(1, times.periods);
  return {
    namespace: NAMESPACE,
    service: service.name,
    startMs,
    endMs: startMs + WINDOW_MS,
    replicasReady: state.replicas,
    replicasWanted: state.replicas,
    requestsPerSecond: noisy(state.requestsPerSecond, 0.01, rng),
    ...(ownLatency && { ownLatency }),
    callees: [],
    containers: Array.from({ length: state.replicas }, (_, number) =>
      containerOf(service, state, { number, throttledRatio, weather }, rng),
    ),
  };
}

/** What tracing and the agents would report of one interval: a sample of the requests, and noise on everything. */
export function simulatedWindow(
  scenario: Scenario,
  states: readonly TrueState[],
  startMs: number,
  rng: Rng,
): WindowSet {
  const { services } = scenario.truth;
  const weathers = states.map(() => Math.exp(WORK_NOISE * standardNormal(rng)));
  const seen = services.map((service, i): Seen => {
    const [state, weather = 1] = [states[i], weathers[i]];
    if (state === undefined) throw new RangeError(`no state of ${service.name}`);
    return { service, state, weather, times: tracedOf(service, state, weather, rng) };
  });
  const latency = summary(
    endToEnd(
      seen.map(({ times }) => times),
      scenario,
      rng,
    ),
  );
  const windows = seen.map((each) => windowOf(each, startMs, rng));
  if (latency === undefined) throw new RangeError("a window without a request");
  const flow: FlowWindow = {
    flow: FLOW,
    entryService: services[0]?.name ?? "",
    requestsPerSecond: states[0]?.requestsPerSecond ?? 0,
    errorRatio: 0,
    latency,
    services: services.map(({ name }) => name),
    calls: [...scenario.traced.calls],
  };
  return { startMs, endMs: startMs + WINDOW_MS, windows, flows: [flow] };
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
