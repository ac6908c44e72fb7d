import type { ServiceState } from "../application/fleet.ts";
import type { LocalOptions } from "../options.ts";
import type { PhaseName } from "../phases/phases.ts";
import type { Observation } from "../report/observer.ts";
import type { RecentLoad } from "../report/recent.ts";
import { HOTEL } from "../application/topology.ts";
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

function pictureService(state: ServiceState, { windows, recommendations }: Observation): PicturedService {
  const { name } = state.definition;
  const window = windows?.windows.find(({ service }) => service === name);
  const recommendation = recommendations?.recommendations.find(({ service }) => service === name);
  return {
    name,
    requestsPerSecond: window?.requestsPerSecond,
    p95Seconds: window?.responseLatency?.p95Seconds,
    replicasReady: state.ready.length,
    replicasWanted: recommendation?.replicas ?? state.replicasWanted,
    cpuCores: state.size.cpuCores,
    cpuCoresWanted: recommendation?.cpuCores ?? state.size.cpuCores,
    reason: recommendation?.refused ?? recommendation?.reason ?? "no recommendation yet",
  };
}

/** Puts together what the screen shows. */
export function composePicture(parts: PictureParts): Picture {
  const { options, observation, interference, addresses } = parts;
  const problem = observation.recommendations?.predictor.problem;
  return {
    application: HOTEL.name,
    policy: observation.recommendations?.predictor.policy ?? options.policy,
    phase: parts.phase,
    elapsedS: parts.atS,
    ...(options.for !== undefined && { durationS: options.for }),
    objectiveSeconds: options.objective,
    requestsPerSecond: parts.load.requestsPerSecond,
    p95Seconds: parts.load.p95Seconds,
    failed: parts.load.failed,
    services: parts.states.map((state) => pictureService(state, observation)),
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
