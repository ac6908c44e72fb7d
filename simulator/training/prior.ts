import { standardNormal, uniform } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { TrainingService } from "./container.ts";

/** How load, sizes and surroundings of a service move, and what of it is measured. */
export interface TrainingPlan {
  readonly service: TrainingService;
  readonly windowSeconds: number;
  /** CFS quota at the beginning, cores; Infinity: none. */
  readonly quotaCores: number;
  /** Requests per second to one container at the beginning. */
  readonly requestsPerSecond: number;
  readonly replicas: number;
  readonly pattern: LoadPattern;
  /** Chance of another size in a window. */
  readonly changeChance: number;
  readonly sensitivity: Sensitivity;
  /** Window of a deploy and what it makes of the demand; Infinity: none. */
  readonly deployAt: number;
  readonly deployFactor: number;
  /** Standard deviations of ln demand from window to window, and of its walk. */
  readonly weather: number;
  readonly drift: number;
  /** What warming up takes at first over what is taken later; 0: nothing. */
  readonly warmUp: number;
  readonly measurement: Measurement;
}

export interface LoadPattern {
  readonly kind: "flat" | "scatter" | "wave" | "walk" | "saw" | "steps" | "calm-then-step" | "bursts";
  readonly size: number;
  readonly windows: number;
  readonly phase: number;
}

/** What surroundings do to the work of a request. */
export interface Sensitivity {
  readonly cpu: number;
  readonly bandwidth: number;
  /** Bytes that are needed over the limit at the beginning; 0: memory plays no part. */
  readonly memoryNeed: number;
  readonly memorySlope: number;
  /** Tenants that come and go: chance in a window, and how much. */
  readonly tenantChance: number;
  readonly tenantSize: number;
}

/** What is seen of it. */
export interface Measurement {
  /** Nothing but the p95. */
  readonly isTailOnly: boolean;
  readonly hasCpu: boolean;
  /** Windows that CPU use is averaged over: late counters. */
  readonly cpuWindows: number;
  /** Upper ends of histogram buckets, s; empty: percentiles are exact. */
  readonly buckets: readonly number[];
  /** Windows that each report covers. */
  readonly overlap: number;
  /** Spans begin when a handler does. */
  readonly isBlind: boolean;
  readonly hasTransit: boolean;
  readonly hasInterference: boolean;
  readonly hasMemory: boolean;
  readonly hasThrottling: boolean;
  /** CPU is told in units of something else, and no limit is. */
  readonly cpuUnit: number;
  /** Share of the requests that leave spans. */
  readonly keptRatio: number;
  /** Requests counted for each that was measured: those of other containers. */
  readonly counted: number;
}

/** Names of the prior's parts, for what ships with weights. */
export const PRIOR_TEXT =
  "demand, spread and heavy requests; 1-16 cores and any threads; quota 0.02-4 cores or none; time off the CPU held or not, connections, locks, " +
  "collections; housekeeping; tenants, memory, deploys, drift, warm-up; flat, wave, walk, saw, step, calm-then-step and burst loads; sizes that move; " +
  "p95 alone, buckets, overlap, 5-60 s, late or no CPU, foreign units, blind spans, sampling";

/** Uniform in the logarithm. */
export const spread = (rng: Rng, low: number, high: number): number => low * (high / low) ** rng();
export const oneOf = <Value>(rng: Rng, values: readonly Value[]): Value =>
  values[Math.floor(rng() * values.length)] as Value;

const MOST_DEMAND = 0.5;
const LEAST_DEMAND = 0.0002;

/** Share of services without any of what makes the others hard to read: what they are like has to be told to the last percent. */
const PLAIN_SHARE = 0.4;

export function drawPlan(rng: Rng): TrainingPlan {
  const plan = drawAny(rng);
  return rng() < PLAIN_SHARE ? plain(plan, rng) : plan;
}

/** The same without locks, collections, held threads, deploys, drift, and measured as it is. */
function plain(plan: TrainingPlan, rng: Rng): TrainingPlan {
  const { cores } = plan.service;
  const waitSeconds = rng() < 0.5 ? 0 : spread(rng, 0.001, 0.02);
  const service: TrainingService = {
    ...plan.service,
    threads: rng() < 0.7 ? cores : Infinity,
    waitSeconds,
    waitSpread: 0.8,
    holdsThread: false,
    connections: Infinity,
    lockedShare: 0,
    collectEverySeconds: Infinity,
    collectSeconds: 0,
  };
  // The use stays, with more requests that take less.
  const faster = spread(rng, 1, 3);
  const demandSeconds = Math.max(LEAST_DEMAND, service.demandSeconds / faster);
  const requestsPerSecond = (plan.requestsPerSecond * service.demandSeconds) / demandSeconds;
  return {
    ...plan,
    service: { ...service, demandSeconds },
    requestsPerSecond,
    windowSeconds: 15,
    deployAt: Infinity,
    drift: 0,
    warmUp: 0,
    weather: spread(rng, 0.005, 0.05),
    measurement: {
      ...plan.measurement,
      isTailOnly: rng() < 0.1,
      hasCpu: true,
      cpuWindows: 1,
      buckets: [],
      overlap: 1,
      isBlind: false,
      cpuUnit: 1,
      keptRatio: 1,
      counted: 1,
    },
  };
}

function drawAny(rng: Rng): TrainingPlan {
  const cores = oneOf(rng, [1, 1, 1, 2, 2, 4, 4, 8, 8, 16]);
  const quotaCores = rng() < 0.15 ? Infinity : rng() < 0.15 ? spread(rng, 0.02, 0.2) : spread(rng, 0.15, 4);
  const requestsPerSecond = spread(rng, 1.5, 70);
  const use = spread(rng, 0.1, 0.75);
  const cpuCores = Math.min(quotaCores, cores);
  const { demandSeconds, lockedShare } = demandOf(cpuCores, use / requestsPerSecond, rng);
  const offCpu = drawOffCpu(demandSeconds, rng);
  const isOneThread = cores === 1 && rng() < 0.55;
  const threads = isOneThread
    ? 1
    : Math.max(cores, oneOf(rng, [cores, cores, 4 * cores, 16, 64, Infinity, Infinity]));
  const service: TrainingService = {
    demandSeconds,
    demandSpread: spread(rng, 0.15, 1.2),
    ...(rng() < 0.4
      ? { heavyShare: spread(rng, 0.02, 0.4), heavyFactor: spread(rng, 2, 15) }
      : { heavyShare: 0, heavyFactor: 1 }),
    cores,
    threads,
    ...offCpu,
    lockedShare,
    ...(rng() < 0.2
      ? { collectEverySeconds: spread(rng, 0.3, 4), collectSeconds: spread(rng, 0.004, 0.08) }
      : { collectEverySeconds: Infinity, collectSeconds: 0 }),
    housekeepingCores: rng() < 0.4 ? 0 : Math.min(0.2 * cpuCores, spread(rng, 0.001, 0.03)),
  };
  return {
    service,
    ...drawCourse(rng),
    quotaCores,
    requestsPerSecond,
    sensitivity: drawSensitivity(rng),
    measurement: drawMeasurement(demandSeconds, rng),
  };
}

/** Requests per second at which a container is full, by whatever is full first. */
export function fullOf(service: TrainingService, quotaCores: number): number {
  const { connections, cores, demandSeconds, holdsThread, lockedShare, threads, waitSeconds } = service;
  const ofCpu = Math.min(quotaCores - service.housekeepingCores, cores) / demandSeconds;
  const ofLock = lockedShare > 0 ? 1 / (lockedShare * demandSeconds) : Infinity;
  const ofThreads = threads / (demandSeconds + (holdsThread ? waitSeconds : 0));
  const ofConnections = waitSeconds > 0 ? connections / waitSeconds : Infinity;
  return Math.min(ofCpu, ofLock, ofThreads, ofConnections);
}

function demandOf(
  cpuCores: number,
  share: number,
  rng: Rng,
): { readonly demandSeconds: number; readonly lockedShare: number } {
  const lockedShare = rng() < 0.12 ? spread(rng, 0.05, 0.6) : 0;
  const demand = share * Math.min(cpuCores, lockedShare > 0 ? 1 / lockedShare : Infinity);
  return { demandSeconds: Math.min(MOST_DEMAND, Math.max(LEAST_DEMAND, demand)), lockedShare };
}

function drawOffCpu(
  demandSeconds: number,
  rng: Rng,
): Pick<TrainingService, "waitSeconds" | "waitSpread" | "holdsThread" | "connections"> {
  if (rng() < 0.45) return { waitSeconds: 0, waitSpread: 0, holdsThread: false, connections: Infinity };
  return {
    waitSeconds: rng() < 0.5 ? spread(rng, 0.001, 0.02) : Math.min(1, demandSeconds * spread(rng, 0.15, 12)),
    waitSpread: spread(rng, 0.15, 1.3),
    holdsThread: rng() < 0.35,
    connections: rng() < 0.2 ? oneOf(rng, [2, 4, 8, 16]) : Infinity,
  };
}

type Course = Pick<
  TrainingPlan,
  | "windowSeconds"
  | "replicas"
  | "pattern"
  | "changeChance"
  | "deployAt"
  | "deployFactor"
  | "weather"
  | "drift"
  | "warmUp"
>;

function drawCourse(rng: Rng): Course {
  return {
    windowSeconds: oneOf(rng, [5, 15, 15, 15, 15, 30, 60]),
    replicas: rng() < 0.4 ? 1 : Math.round(spread(rng, 1, 12)),
    pattern: {
      kind: oneOf(rng, [
        "flat",
        "scatter",
        "scatter",
        "wave",
        "walk",
        "saw",
        "steps",
        "calm-then-step",
        "bursts",
      ] as const),
      size: uniform(rng, 0.1, 0.9),
      windows: spread(rng, 8, 80),
      phase: rng(),
    },
    changeChance: rng() < 0.4 ? 0 : spread(rng, 0.02, 0.2),
    deployAt: rng() < 0.15 ? Math.floor(uniform(rng, 8, 48)) : Infinity,
    deployFactor: Math.exp(0.5 * standardNormal(rng)),
    weather: rng() < 0.3 ? 0 : spread(rng, 0.01, 0.1),
    drift: rng() < 0.7 ? 0 : spread(rng, 0.003, 0.03),
    warmUp: rng() < 0.6 ? 0 : spread(rng, 0.2, 3),
  };
}

function drawSensitivity(rng: Rng): Sensitivity {
  const hasMemory = rng() < 0.5;
  const hasTenants = rng() < 0.5;
  return {
    cpu: uniform(rng, 0.2, 1.8),
    bandwidth: uniform(rng, 0, 1.4),
    memoryNeed: hasMemory ? spread(rng, 0.35, 1.3) : 0,
    memorySlope: uniform(rng, 1, 6),
    tenantChance: hasTenants ? spread(rng, 0.03, 0.3) : 0,
    tenantSize: uniform(rng, 0.2, 0.9),
  };
}

const USUAL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function drawMeasurement(demandSeconds: number, rng: Rng): Measurement {
  const isForeign = rng() < 0.05;
  return {
    isTailOnly: rng() < 0.25,
    hasCpu: rng() > 0.05,
    cpuWindows: rng() < 0.15 ? 2 + Math.floor(3 * rng()) : 1,
    buckets: drawBuckets(demandSeconds, rng),
    overlap: rng() < 0.15 ? 2 + Math.floor(3 * rng()) : 1,
    isBlind: rng() < 0.12,
    hasTransit: rng() < 0.4,
    hasInterference: rng() < 0.65,
    hasMemory: rng() < 0.8,
    hasThrottling: rng() < 0.8,
    cpuUnit: isForeign ? spread(rng, 0.1, 10) : 1,
    keptRatio: rng() < 0.12 ? spread(rng, 0.05, 1) : 1,
    counted: rng() < 0.2 ? spread(rng, 1, 30) : 1,
  };
}

function drawBuckets(demandSeconds: number, rng: Rng): readonly number[] {
  const kind = rng();
  if (kind > 0.25) return [];
  if (kind < 0.12) return rng() < 0.5 ? USUAL_BUCKETS : [0.001, ...USUAL_BUCKETS];
  const [first, factor] = [demandSeconds * spread(rng, 0.1, 0.5), spread(rng, 1.4, 3)];
  return Array.from({ length: 16 }, (_, i) => first * factor ** i);
}
