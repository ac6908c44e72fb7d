import { costPerHour, Prices } from "@tradewind/core/contract/prices.ts";
import { rowText, sharedHold } from "@tradewind/core/contract/sentences.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { ServiceState } from "../application/fleet.ts";
import type { LocalOptions } from "../options.ts";
import { parsePolicy } from "../policy.ts";
import type { Policy } from "../policy.ts";
import type { Phase, PhaseName } from "../load/phases.ts";
import { TIMELINE_STEPS } from "../report/timeline.ts";
import type { Meters } from "../report/meters.ts";
import type { Observation } from "../report/observer.ts";
import type { Picture, PicturedService, PicturedTotals, Rival, Trend } from "./picture.ts";

export interface PictureParts {
  readonly options: LocalOptions;
  readonly atS: number;
  readonly phase: PhaseName;
  readonly phases: readonly Phase[];
  readonly meters: Meters;
  readonly rival: Rival | undefined;
  readonly isInteractive: boolean;
  readonly showsHelp: boolean;
  readonly answer: readonly string[];
  /** What the screen says beside the troubles, for example of a predictor that was killed. */
  readonly notes: readonly string[];
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
    reason:
      recommendation === undefined
        ? "no recommendation yet"
        : (recommendation.refused ?? rowText(recommendation, holdOf(recommendations))),
  };
}

const holdOf = (list: Observation["recommendations"]): string | undefined =>
  sharedHold(list?.recommendations ?? []);

/** Once above the table what holds several of its services. */
function heldNote({ recommendations }: Observation): string[] {
  const hold = holdOf(recommendations);
  return hold === undefined ? [] : [`held: ${hold}`];
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
export function ruleOf(policy: Exclude<Policy, { readonly kind: "tradewind" }>): string {
  return policy.kind === "hpa"
    ? `HorizontalPodAutoscaler: CPU at ${Math.round(policy.cpuRatio * 100)} % of the request`
    : `KEDA: ${policy.requestsPerSecond} requests/s for each replica`;
}

function totalsOf({ meters, states }: PictureParts): PicturedTotals {
  const sizes = states.flatMap(({ ready }) => ready.map(({ limits }) => limits));
  const sum = (of: (size: (typeof sizes)[number]) => number): number =>
    sizes.reduce((total, size) => total + of(size), 0);
  const given = { cpuCores: sum((size) => size.cpuCores), memoryBytes: sum((size) => size.memoryBytes) };
  return {
    ...meters.phases.counts(),
    ...given,
    replicas: sizes.length,
    costPerHour: costPerHour(given, Prices.parse({})),
    starts: meters.starts,
    stops: meters.stops,
  };
}

function trendOf({ atS, meters, phases, rival }: PictureParts): Trend {
  const seconds = phases.at(-1)?.toS ?? 1;
  return {
    steps: TIMELINE_STEPS,
    p95Seconds: meters.timeline.read(atS).p95Ms.map((ms) => (ms === null ? undefined : ms / 1e3)),
    phases: phases.map(({ fromS, name, toS }) => ({
      name,
      fromShare: fromS / seconds,
      toShare: toS / seconds,
    })),
    ...(rival !== undefined && { rival }),
  };
}

/** A predictor without a window yet answers no plan: that is the beginning, not a trouble. */
const BEGINNING_SECONDS = 30;
const COLLECTING = "collecting the first window; replicas stay as they are until then";

/** Puts together what the screen shows. */
export function composePicture(parts: PictureParts): Picture {
  const { options, observation, interference, addresses } = parts;
  const policy = parsePolicy(options.policy);
  const load = parts.meters.recent.read(parts.atS);
  const problem = observation.recommendations?.predictor.problem;
  const isBeginning = observation.decisions === 0 && parts.atS < BEGINNING_SECONDS;
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
    requestsPerSecond: load.requestsPerSecond,
    p95Seconds: load.p95Seconds,
    failed: load.failed,
    services: parts.states.map((state) => pictureService(state, observation, policy)),
    ...(interference !== undefined && { interference }),
    quota: parts.quota,
    addresses: [
      ["console", `${addresses["exporter"] ?? ""}/`],
      ["scaler", addresses["grpc"] ?? ""],
      ["predictor", `${addresses["predictor"] ?? ""}/metrics`],
      ["agent", `${addresses["agent"] ?? ""}/metrics`],
    ],
    troubles: problem === undefined || isBeginning ? [] : [problem],
    notes: [
      ...(isBeginning && policy.kind === "tradewind" ? [COLLECTING] : []),
      ...heldNote(parts.observation),
      ...parts.notes,
    ],
    answer: parts.answer,
    totals: totalsOf(parts),
    trend: trendOf(parts),
    isInteractive: parts.isInteractive,
    showsHelp: parts.showsHelp,
  };
}
