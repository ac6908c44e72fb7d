import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { ContainerWindow, FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { ServiceEvidence } from "@tradewind/predictor/policy/evidence.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/policy/inputs.ts";
import { decide } from "@tradewind/predictor/policy/ladder.ts";
import { stretch } from "@tradewind/predictor/profile/prior.ts";
import { application, flow, inputs, START_MS, window, windowSet } from "../../measurements.ts";

/** A service that follows the queueing prior: what it gets and bears, and from that what is measured of it. */
export interface ModelledService {
  readonly service: string;
  readonly replicas: number;
  /** Of each container. */
  readonly cores: number;
  readonly cpuSecondsPerRequest: number;
  /** Own p95 without load. */
  readonly baseSeconds: number;
  readonly requestsPerSecond: number;
  readonly memoryBytes?: number;
  readonly usedBytes?: number;
}

/** A frontend at ease in front of a backend that has all it can do: 85 % of its CPU is in use. */
export const FRONTEND: ModelledService = {
  service: "frontend",
  replicas: 1,
  cores: 1,
  cpuSecondsPerRequest: 0.005,
  baseSeconds: 0.01,
  requestsPerSecond: 20,
};
export const BACKEND: ModelledService = {
  service: "backend",
  replicas: 2,
  cores: 1,
  cpuSecondsPerRequest: 0.085,
  baseSeconds: 0.09,
  requestsPerSecond: 20,
};
export const BUSY = [FRONTEND, BACKEND];
/** The same with far more than it needs. */
export const CALM = [FRONTEND, { ...BACKEND, replicas: 4, cores: 2 }];

export function utilisationOf(facts: ModelledService): number {
  const { cores, cpuSecondsPerRequest, replicas, requestsPerSecond } = facts;
  return replicas === 0 ? 0 : (requestsPerSecond * cpuSecondsPerRequest) / (replicas * cores);
}

/** The window of such a service, measured without error. */
export function modelledWindow(facts: ModelledService, startMs = START_MS): Window {
  const { service, replicas, cores, requestsPerSecond, baseSeconds, memoryBytes, usedBytes } = facts;
  const utilisation = utilisationOf(facts);
  const p95 = baseSeconds * stretch(utilisation);
  return {
    ...window({ service, replicas, rate: requestsPerSecond, ownSeconds: p95 / 3 }, startMs),
    containers: Array.from({ length: replicas }, (_, pod): ContainerWindow => ({
      id: `${service}-${pod}-main`,
      podName: `${service}-${pod}`,
      cpuLimitCores: cores,
      cpuUsageCores: Math.min(1, utilisation) * cores,
      ...(memoryBytes !== undefined && { memoryLimitBytes: memoryBytes }),
      ...(usedBytes !== undefined && { memoryWorkingSetBytes: usedBytes }),
    })),
  };
}

/** What is known of its profile after ten windows that the prior has predicted well. */
export function modelledEvidence(
  { service, cpuSecondsPerRequest, baseSeconds }: ModelledService,
  overrides: Partial<ServiceEvidence> = {},
): ServiceEvidence {
  return {
    service,
    prior: {
      state: { cpuSecondsPerRequest, baseSeconds },
      factors: { lower: 0.8, upper: 1.25 },
      errors: { windows: 10, meanAbsoluteRatio: 0.1 },
    },
    ...overrides,
  };
}

/** A chain of services, each called once by the one before it, and the flow through all of them. */
export function chained(services: readonly ModelledService[], startMs = START_MS, tailFactor = 1): WindowSet {
  const windows = services.map((each) => modelledWindow(each, startMs));
  const calls = services.slice(1).map(({ service }, at) => ({
    caller: services[at]!.service,
    callee: service,
    callsPerRequest: 1,
    parallelRatio: 0,
  }));
  const tail = windows.reduce((sum, { ownLatency }) => sum + ownLatency!.p95Seconds, 0) * tailFactor;
  const through: FlowWindow = flow(
    services.map(({ service }) => service),
    tail,
    { calls, entryService: services[0]!.service },
  );
  return windowSet(windows, [through]);
}

export const RESIZABLE = application({ resize: "limits" });

export function wishOf({ plan }: PolicyOutcome, service: string): Wish {
  const found = plan.wishes.find((one) => one.service === service);
  if (found === undefined) throw new Error(`no wish for ${service}`);
  return found;
}

/** A state after so many calm windows. */
export function calmState(state: PolicyInputs["state"], calmWindows: number): PolicyInputs["state"] {
  const planner = { missedInSpite: 0, recentSeverities: Array.from({ length: 8 }, () => 0) };
  return { ...state, windowEndMs: START_MS, calmWindows, planner };
}

/** What `--policy plan` makes of a chain of these services, its profiles being right unless said otherwise. */
export function planned(
  services: readonly ModelledService[],
  overrides: Partial<PolicyInputs> = {},
  set: WindowSet = chained(services),
): PolicyOutcome {
  const profiles = services.map((each) => modelledEvidence(each));
  return decide(inputs(set, { choice: "plan", application: RESIZABLE, profiles, ...overrides }));
}

/** A prior that sees no queueing: whatever the service gets, it is as fast. */
export function flat({ baseSeconds }: ModelledService): ServiceEvidence["prior"] {
  return {
    state: { cpuSecondsPerRequest: 1e-6, baseSeconds },
    errors: { windows: 10, meanAbsoluteRatio: 0.2 },
  };
}
