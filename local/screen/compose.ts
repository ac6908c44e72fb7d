import type { Window } from "@tradewind/core/contract/window.ts";
import type { ServiceState } from "../application/fleet.ts";
import type { LocalOptions } from "../options.ts";
import { parsePolicy } from "../policy.ts";
import type { Policy } from "../policy.ts";
import type { PhaseName } from "../phases/phases.ts";
import type { Observation } from "../report/observer.ts";
import type { RecentLoad } from "../report/recent.ts";
import type { Picture, PicturedService } from "./picture.ts";

export interface PictureParts {
  readonly options: LocalOptions;
  readonly atS: number;
  readonly phase: PhaseName;
  readonly load: RecentLoad;
  readonly states: readonly ServiceState[];
  readonly observation: Observation;
  readonly interference: string | undefined;
  readonly quota: string;
  readonly addresses: Readonly<Record<string, string>>;
}

function pictureService(
  state: ServiceState,
  { windows, recommendations }: Observation,
  policy: Policy,
): PicturedService {
  const { name } = state.definition;
  const window = windows?.windows.find(({ service }) => service === name);
  if (policy.kind !== "tradewind") {
    return {
      ...measured(state, window),
      replicasWanted: state.replicasWanted,
      cpuCoresWanted: state.size.cpuCores,
      reason: ruleOf(policy),
    };
  }
  const recommendation = recommendations?.recommendations.find(({ service }) => service === name);
  return {
    ...measured(state, window),
    replicasWanted: recommendation?.replicas ?? state.replicasWanted,
    cpuCoresWanted: recommendation?.cpuCores ?? state.size.cpuCores,
    reason: recommendation?.refused ?? recommendation?.reason ?? "no recommendation yet",
  };
}

function measured(state: ServiceState, window: Window | undefined) {
  return {
    name: state.definition.name,
    requestsPerSecond: window?.requestsPerSecond,
    p95Seconds: window?.responseLatency?.p95Seconds,
    replicasReady: state.ready.length,
    cpuCores: state.size.cpuCores,
  };
}

/** The rule of an autoscaler other than Tradewind. */
function ruleOf(policy: Exclude<Policy, { readonly kind: "tradewind" }>): string {
  return policy.kind === "hpa"
    ? `HorizontalPodAutoscaler: CPU at ${Math.round(policy.cpuRatio * 100)} % of the request`
    : `KEDA: ${policy.requestsPerSecond} requests/s for each replica`;
}

/** Puts together what the screen shows. */
export function composePicture(parts: PictureParts): Picture {
  const { options, observation, interference, addresses } = parts;
  const policy = parsePolicy(options.policy);
  const problem = observation.recommendations?.predictor.problem;
  return {
    application: options.application,
    policy:
      policy.kind === "tradewind"
        ? (observation.recommendations?.predictor.policy ?? options.policy)
        : options.policy,
    phase: parts.phase,
    elapsedS: parts.atS,
    ...(options.for !== undefined && { durationS: options.for }),
    objectiveSeconds: options.objective,
    requestsPerSecond: parts.load.requestsPerSecond,
    p95Seconds: parts.load.p95Seconds,
    failed: parts.load.failed,
    services: parts.states.map((state) => pictureService(state, observation, policy)),
    ...(interference !== undefined && { interference }),
    quota: parts.quota,
    addresses: [
      ["recommendations", `${addresses["exporter"] ?? ""}/`],
      ["scaler", addresses["grpc"] ?? ""],
      ["predictor", `${addresses["predictor"] ?? ""}/metrics`],
      ["agent", `${addresses["agent"] ?? ""}/metrics`],
    ],
    troubles: problem === undefined ? [] : [problem],
  };
}
