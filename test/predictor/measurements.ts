import { Application } from "@tradewind/core/contract/application.ts";
import type { ContainerWindow, FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { INPUTS_SCHEMA } from "@tradewind/predictor/decide/inputs.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";

/** Hand-made measurements: windows of 15 s from this time on. */
export const START_MS = 1_750_000_005_000;
export const WINDOW_MS = 15_000;

export interface ServiceFacts {
  readonly service: string;
  readonly replicas?: number;
  /** Where what the platform wants differs from what serves. */
  readonly wanted?: number;
  readonly rate?: number;
  readonly ownSeconds?: number;
  /** Use of each pod, of a limit of 1 core; absent when no agent told. */
  readonly podUsageCores?: number;
  readonly podsMeasured?: number;
  readonly throttled?: number;
  readonly startedAtMs?: number;
}

export function summary(meanSeconds: number, count = 100): NonNullable<Window["ownLatency"]> {
  return {
    count,
    meanSeconds,
    p50Seconds: 0.7 * meanSeconds,
    p95Seconds: 3 * meanSeconds,
    p99Seconds: 4.6 * meanSeconds,
  };
}

export function window(facts: ServiceFacts, startMs = START_MS): Window {
  const { service, replicas, wanted = replicas, rate, ownSeconds, startedAtMs } = facts;
  return {
    namespace: "default",
    service,
    startMs,
    endMs: startMs + WINDOW_MS,
    ...(replicas !== undefined && { replicasReady: replicas }),
    ...(wanted !== undefined && { replicasWanted: wanted }),
    ...(startedAtMs !== undefined && { lastStartedAtMs: startedAtMs }),
    ...(rate !== undefined && { requestsPerSecond: rate }),
    ...(ownSeconds !== undefined && {
      ownLatency: summary(ownSeconds),
      responseLatency: summary(ownSeconds),
      ...(rate !== undefined && { ownInFlight: rate * ownSeconds, inFlight: rate * ownSeconds }),
    }),
    callees: [],
    containers: containers(facts),
  };
}

function containers({
  service,
  replicas = 0,
  podUsageCores,
  podsMeasured,
  throttled,
}: ServiceFacts): ContainerWindow[] {
  return Array.from({ length: replicas }, (_, pod) => ({
    id: `${service}-${pod}-main`,
    podName: `${service}-${pod}`,
    cpuLimitCores: 1,
    ...(podUsageCores !== undefined &&
      pod < (podsMeasured ?? replicas) && {
        cpuUsageCores: podUsageCores,
        ...(throttled !== undefined && { cpuThrottledRatio: throttled }),
      }),
  }));
}

/** A flow whose p95 is `tailSeconds`. */
export function flow(
  services: readonly string[],
  tailSeconds: number,
  overrides: Partial<FlowWindow> = {},
): FlowWindow {
  return {
    flow: "GET /",
    entryService: "frontend",
    requestsPerSecond: 20,
    errorRatio: 0,
    latency: {
      count: 300,
      meanSeconds: tailSeconds / 3,
      p50Seconds: tailSeconds / 4,
      p95Seconds: tailSeconds,
      p99Seconds: 1.5 * tailSeconds,
    },
    services: [...services],
    ...overrides,
  };
}

export function windowSet(windows: readonly Window[], flows: readonly FlowWindow[] = []): WindowSet {
  const startMs = windows[0]?.startMs ?? START_MS;
  return { startMs, endMs: startMs + WINDOW_MS, windows: [...windows], flows: [...flows] };
}

/** Objective: p95 under 200 ms, judged over 45 s, three windows. */
export function application(overrides: object = {}): Application {
  return Application.parse({
    entry: "frontend",
    objective: { milliseconds: 200, windowSeconds: 45 },
    mode: "act",
    ...overrides,
  });
}

export function inputs(set: WindowSet, overrides: Partial<PolicyInputs> = {}): PolicyInputs {
  const app = overrides.application ?? application();
  return {
    schema: INPUTS_SCHEMA,
    choice: "auto",
    application: app,
    settings: PolicySettings.parse({}),
    state: emptyState(app.name, app.namespace),
    windowSet: set,
    nowMs: set.endMs + 5_000,
    ...overrides,
  };
}
