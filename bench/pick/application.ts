import type { FlowCall } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { derive } from "@tradewind/simulator/engine/random.ts";
import { bimodal, exponential, lognormal, meanOf, scaled } from "@tradewind/simulator/model/distribution.ts";
import type { Distribution } from "@tradewind/simulator/model/distribution.ts";
import { Composition } from "./composition.ts";
import { TrueApplication } from "./true-application.ts";
import type { TrueService, TrueState } from "./truth.ts";

/** A simulated application, and how it stands on a calm day. */
export interface Scenario {
  readonly name: string;
  readonly truth: TrueApplication;
  /** The same application with other requests: how far the truth agrees with itself. */
  readonly again: TrueApplication;
  /** The same call graph for the requests that a window traces. */
  readonly traced: Composition;
  /** Requests per second at the entry on a calm day. */
  readonly entryRate: number;
  /** Requests to each service per request at the entry. */
  readonly visits: readonly number[];
  readonly calm: readonly TrueState[];
}

/** Requests traced in one window at most. */
export const MOST_TRACED = 2_000;

const between = (rng: Rng, low: number, high: number): number => low + (high - low) * rng();

/** Chance that a call runs beside the other parallel calls of its caller, and that it is not made exactly once. */
const PARALLEL_SHARE = 0.35;
const UNEVEN_SHARE = 0.2;
/** Chance that a service has a second caller. */
const SHARED_SHARE = 0.1;

/** CPU times of mean 1: one kind of request, or light and heavy ones mixed. */
function randomShape(rng: Rng): Distribution {
  const kind = rng();
  if (kind < 0.4) return lognormal(1, between(rng, 0.3, 1.2));
  if (kind < 0.55) return exponential(1);
  // Of 5 to 20 % heavy ones that take 4 to 12 times as long.
  const [share, ratio] = [between(rng, 0.05, 0.2), between(rng, 4, 12)];
  const low = 1 / (1 + share * (ratio - 1));
  return bimodal(low, ratio * low, share);
}

const THREADS = [1, 2, 4, 8, 16];

function randomService(number: number, rng: Rng): TrueService {
  return {
    name: `s${number}`,
    demand: scaled(randomShape(rng), 2 * 6 ** rng()),
    threads: THREADS[Math.floor(rng() * THREADS.length)] ?? 1,
    outsideSeconds: rng() < 0.5 ? 0 : between(rng, 0.001, 0.015),
    memoryNeedBytes: between(rng, 150e6, 600e6),
    cpuSensitivity: between(rng, 0.3, 1.5),
    bandwidthSensitivity: between(rng, 0, 1.2),
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

/** Limits that manifests have, cores. */
const LIMITS = [0.4, 1, 1, 2];

/** Containers of a usual size, at the utilisation a careful operator leaves of what their threads can use. */
function calmState(service: TrueService, requestsPerSecond: number, rng: Rng): TrueState {
  const cores = (requestsPerSecond * meanOf(service.demand)) / 1e3 / between(rng, 0.3, 0.6);
  const cpuCores = LIMITS[Math.floor(rng() * LIMITS.length)] ?? 1;
  return {
    replicas: Math.max(1, Math.round(cores / Math.min(cpuCores, service.threads))),
    cpuCores,
    memoryBytes: Math.round((service.memoryNeedBytes * between(rng, 1.2, 2)) / 50e6) * 50e6,
    requestsPerSecond,
    cpuInterference: between(rng, 0, 0.2),
    bandwidthInterference: between(rng, 0, 0.2),
  };
}

/** A simulated application of `count` services; `samples` requests make up its truth. */
export function randomScenario(name: string, count: number, samples: number, rng: Rng): Scenario {
  const services = Array.from({ length: count }, (_, number) => randomService(number, rng));
  const names = services.map((service) => service.name);
  const calls = randomCalls(count, rng);
  const visits = visitsOf(services, calls);
  const entryRate = between(rng, 60, 200);
  const calm = services.map((service, i) => calmState(service, entryRate * (visits[i] ?? 0), rng));
  const key = Math.trunc(rng() * 2 ** 31);
  const composition = new Composition(names, calls, samples, rng);
  const truth = new TrueApplication(services, composition, key);
  const again = new TrueApplication(services, composition, derive(key, 1));
  const traced = new Composition(names, calls, MOST_TRACED, rng);
  return { name, truth, again, traced, entryRate, visits, calm };
}
