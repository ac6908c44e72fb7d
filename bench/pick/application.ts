import type { FlowCall } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import { TrueApplication } from "./truth.ts";
import type { TrueService, TrueState } from "./truth.ts";

/** A simulated application, and how it stands on a calm day. */
export interface Scenario {
  readonly name: string;
  readonly truth: TrueApplication;
  /** The same services with other requests: what is seen of the application is drawn from these. */
  readonly traffic: TrueApplication;
  /** Requests per second at the entry on a calm day. */
  readonly entryRate: number;
  /** Requests to each service per request at the entry. */
  readonly visits: readonly number[];
  readonly calm: readonly TrueState[];
}

/** Different requests that tracing can come across. */
const TRAFFIC_SAMPLES = 4_000;

const between = (rng: Rng, low: number, high: number): number => low + (high - low) * rng();

/** Chance that a call runs beside the other parallel calls of its caller, and that it is not made exactly once. */
const PARALLEL_SHARE = 0.35;
const UNEVEN_SHARE = 0.2;
/** Chance that a service has a second caller. */
const SHARED_SHARE = 0.1;

function randomService(number: number, rng: Rng): TrueService {
  return {
    name: `s${number}`,
    cpuSecondsPerRequest: 0.002 * 6 ** rng(),
    outsideSeconds: rng() < 0.5 ? 0 : between(rng, 0.001, 0.015),
    memoryNeedBytes: between(rng, 100e6, 500e6),
    cpuSensitivity: between(rng, 0.3, 1.5),
    bandwidthSensitivity: between(rng, 0, 1.2),
    logSpread: between(rng, 0.35, 0.85),
  };
}

/** A tree of calls, callers before callees, with a few services that have two callers. */
function randomCalls(count: number, rng: Rng): FlowCall[] {
  const calls: FlowCall[] = [];
  for (let callee = 1; callee < count; callee += 1) {
    const callers = new Set([Math.floor(callee * rng() ** 1.5)]);
    if (rng() < SHARED_SHARE) callers.add(Math.floor(callee * rng()));
    for (const caller of callers) {
      calls.push({
        caller: `s${caller}`,
        callee: `s${callee}`,
        callsPerRequest: rng() < UNEVEN_SHARE ? (rng() < 0.5 ? 2 : between(rng, 0.3, 0.9)) : 1,
        parallelRatio: rng() < PARALLEL_SHARE ? 1 : 0,
      });
    }
  }
  return calls;
}

function visitsOf(services: readonly TrueService[], calls: readonly FlowCall[]): number[] {
  const visits = new Map(services.map(({ name }, i) => [name, i === 0 ? 1 : 0]));
  for (const { name } of services) {
    for (const { caller, callee, callsPerRequest } of calls) {
      if (caller === name) {
        visits.set(callee, (visits.get(callee) ?? 0) + (visits.get(name) ?? 0) * callsPerRequest);
      }
    }
  }
  return services.map(({ name }) => visits.get(name) ?? 0);
}

/** Cores for all containers at the utilisation a careful operator leaves, in steps of a tenth a container. */
function calmState(service: TrueService, requestsPerSecond: number, rng: Rng): TrueState {
  const cores = (requestsPerSecond * service.cpuSecondsPerRequest) / between(rng, 0.3, 0.6);
  const replicas = Math.max(1, Math.min(6, Math.round(cores / between(rng, 0.4, 1.2))));
  return {
    replicas,
    cpuCores: Math.max(0.1, Math.round((10 * cores) / replicas) / 10),
    memoryBytes: Math.round((service.memoryNeedBytes * between(rng, 1.2, 2)) / 50e6) * 50e6,
    requestsPerSecond,
    cpuInterference: between(rng, 0, 0.2),
    bandwidthInterference: between(rng, 0, 0.2),
  };
}

/** A simulated application of `count` services; `samples` requests make up its truth. */
export function randomScenario(name: string, count: number, samples: number, rng: Rng): Scenario {
  const services = Array.from({ length: count }, (_, number) => randomService(number, rng));
  const calls = randomCalls(count, rng);
  const visits = visitsOf(services, calls);
  const entryRate = between(rng, 30, 120);
  const calm = services.map((service, i) => calmState(service, entryRate * (visits[i] ?? 0), rng));
  const truth = new TrueApplication(services, calls, samples, rng);
  const traffic = new TrueApplication(services, calls, TRAFFIC_SAMPLES, rng);
  return { name, truth, traffic, entryRate, visits, calm };
}
