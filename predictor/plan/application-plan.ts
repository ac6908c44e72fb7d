import type { Application, ServiceSpec } from "@tradewind/core/contract/application.ts";
import { serviceSpec } from "@tradewind/core/contract/application.ts";
import type { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { FlowGraph } from "../endtoend/call-graph.ts";
import { compileFlow, serviceIndex } from "../endtoend/call-graph.ts";
import { EXPONENTIAL_MEAN_OVER_TAIL, FlowTail } from "../endtoend/flow-tail.ts";
import type { LatencyProfile } from "../profile/latency-profile.ts";
import { WorstContainer } from "../profile/own-tail.ts";
import type { ServiceState } from "../profile/service-state.ts";
import { allocatedCpuCores, allocatedMemoryBytes } from "../profile/window-inputs.ts";
import { flowTailSeconds } from "../queue/objective.ts";
import type { OwnTailModel, PlanService, Size } from "./plan-service.ts";
import { prepare } from "./prepare.ts";
import type { PlanOptions, Prepared } from "./prepare.ts";

/** What is known of one service beside its window. */
export interface KnownService {
  readonly profile?: LatencyProfile;
  readonly state?: ServiceState;
  /** Replicas the plan starts from. */
  readonly baseReplicas: number;
  /** Load to plan for, requests per second; absent: as in the window. */
  readonly requestsPerSecondAhead?: number;
  /** CPU the service asks for right now, cores; absent: not known. */
  readonly demandCores?: number;
}

export interface PlanSettings {
  /** Least share of capacity that stays free of the CPU demand measured now. */
  readonly targetUtilisation: number;
  /** Memory kept above the working set. */
  readonly memoryHeadroomRatio: number;
  /** Steps one plan may take back per service when its profile is fully trusted. */
  readonly stepsBack: number;
  readonly slackRatio: number;
  readonly ranking: PlanOptions["ranking"];
  readonly maxSteps: number;
}

export const PLAN_DEFAULTS: PlanSettings = {
  targetUtilisation: 0.85,
  memoryHeadroomRatio: 1.3,
  stepsBack: 2,
  slackRatio: 0.9,
  ranking: "chain",
  maxSteps: 5_000,
};

export interface PlanRequest {
  readonly application: Application;
  readonly windowSet: WindowSet;
  /** By service name; a service that is not in here is left as it is. */
  readonly known: ReadonlyMap<string, KnownService>;
  readonly settings: PlanSettings;
  /** False forbids taking anything back: the objective was missed a moment ago, or data is missing. */
  readonly mayTakeBack: boolean;
  readonly largestContainer?: PlanOptions["largestContainer"];
}

export interface ApplicationPlan extends Prepared {
  /** Services in the order of `sizes`. */
  readonly services: readonly PlanService[];
  /** Least confidence met in evaluating each service's profile, in [0, 1]; 0 without one. */
  readonly confidence: readonly number[];
}

/** Measured over predicted is believed within these bounds: beyond them the window is not in a steady state. */
const CORRECTION = { least: 0.5, most: 4 };

/** Windows with fewer calls than this do not correct a profile. */
const TELLING_CALLS = 20;

/** Confidence under which a plan takes nothing back. */
const LEAST_CONFIDENCE = 0.2;

/**
 * Plans an application from one set of windows: call graphs compiled, own tails predicted by the profiles and corrected
 * by what is measured, then {@link prepare}.
 *
 * A profile that is off by a constant factor is corrected where it is off (own latency, per service); what then remains
 * between the measured and the predicted tail of a flow corrects that flow.
 */
export function planApplication(request: PlanRequest): ApplicationPlan {
  const { application, windowSet, settings } = request;
  const windows = windowSet.windows.filter(({ namespace }) => namespace === application.namespace);
  const models = windows.map((window) => modelOf(window, request.known.get(window.service)));
  const services = windows.map((window, at) => planService(window, models[at], request));
  const now: Now = {
    ownTail: Float64Array.from(
      services,
      ({ measuredOwnTailSeconds }, at) => models[at]?.nowSeconds ?? measuredOwnTailSeconds,
    ),
    meanOverTail: Float64Array.from(services, ({ meanOverTail }) => meanOverTail),
  };
  const index = serviceIndex(windows.map(({ service }) => service));
  const flows = windowSet.flows
    .filter(({ entryService }) => entryService === application.entry)
    .flatMap((flow) => {
      const graph = compileFlow(flow, windowSet, index);
      return graph === undefined
        ? []
        : [{ graph, calibration: calibrationOf(flow, graph, now, application) }];
    });
  const prepared = prepare(services, flows, {
    objectiveSeconds: application.objective.milliseconds / 1e3,
    slackRatio: settings.slackRatio,
    ranking: settings.ranking,
    maxSteps: settings.maxSteps,
    prices: application.prices,
    ...(application.budget.pods !== undefined && { quota: { pods: application.budget.pods } }),
    ...(request.largestContainer && { largestContainer: request.largestContainer }),
  });
  return { ...prepared, services, confidence: models.map((model) => model?.worst.leastConfidence ?? 0) };
}

interface CorrectedModel {
  readonly worst: WorstContainer;
  readonly model: OwnTailModel;
  /** Own tail as the service is now, seconds. */
  readonly nowSeconds: number;
}

function modelOf(window: Window, known: KnownService | undefined): CorrectedModel | undefined {
  const size = containerSize(window);
  if (known?.profile === undefined || size === undefined) return undefined;
  const worst = new WorstContainer(known.profile, window, known.state);
  const load = (window.requestsPerSecond ?? 0) / Math.max(1, window.replicasReady ?? known.baseReplicas);
  const predicted = worst.settle(size.cpuCores, size.memoryBytes || Number.NaN, load);
  const measured = window.ownLatency;
  const factor =
    measured !== undefined && measured.count >= TELLING_CALLS
      ? correction(measured.p95Seconds / predicted)
      : 1;
  return {
    worst,
    nowSeconds: factor * predicted,
    model: {
      ownTailSeconds: (cpuCores, memoryBytes, requestsPerSecond) =>
        factor * worst.ownTailSeconds(cpuCores, memoryBytes || Number.NaN, requestsPerSecond),
    },
  };
}

function correction(ratio: number): number {
  return Number.isFinite(ratio) ? Math.min(CORRECTION.most, Math.max(CORRECTION.least, ratio)) : 1;
}

/** Mean size of the containers; undefined when no CPU is allocated. Memory is 0 where none is. */
function containerSize({ containers }: Window): Pick<Size, "cpuCores" | "memoryBytes"> | undefined {
  const cpu = containers.map(allocatedCpuCores).filter((cores) => cores !== undefined);
  const memory = containers.map(allocatedMemoryBytes).filter((bytes) => bytes !== undefined);
  if (cpu.length === 0) return undefined;
  return { cpuCores: mean(cpu), memoryBytes: memory.length === 0 ? 0 : mean(memory) };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

function planService(
  window: Window,
  corrected: CorrectedModel | undefined,
  request: PlanRequest,
): PlanService {
  const { application, settings } = request;
  const spec = serviceSpec(application, window.service);
  const known = request.known.get(window.service);
  const size = { replicas: known?.baseReplicas ?? 0, cpuCores: 0, memoryBytes: 0, ...containerSize(window) };
  const confidence = corrected?.worst.leastConfidence ?? 0;
  const trusted = confidence >= LEAST_CONFIDENCE && request.mayTakeBack;
  const measured = window.ownLatency;
  return {
    name: window.service,
    requestsPerSecond: known?.requestsPerSecondAhead ?? window.requestsPerSecond ?? 0,
    size,
    floor: floorOf(window, spec, size, settings),
    ceiling: {
      replicas: spec.maxReplicas,
      cpuCores: Math.max(size.cpuCores, spec.cpu.maxCores),
      memoryBytes: size.memoryBytes === 0 ? 0 : Math.max(size.memoryBytes, spec.memory.maxBytes),
    },
    ...(known?.demandCores !== undefined && {
      leastCpuCores: known.demandCores / settings.targetUtilisation,
    }),
    stepCpuCores: spec.cpu.stepCores,
    stepMemoryBytes: spec.memory.stepBytes,
    ...(corrected && { model: corrected.model }),
    measuredOwnTailSeconds: measured?.p95Seconds ?? 0,
    meanOverTail:
      measured !== undefined && measured.p95Seconds > 0
        ? Math.min(1, Math.max(0.05, measured.meanSeconds / measured.p95Seconds))
        : EXPONENTIAL_MEAN_OVER_TAIL,
    maxStepsBack: trusted ? Math.max(1, Math.round(settings.stepsBack * confidence)) : 0,
  };
}

function floorOf({ containers }: Window, spec: ServiceSpec, size: Size, settings: PlanSettings): Size {
  const workingSets = containers.map((container) => container.memoryWorkingSetBytes ?? 0);
  const needed = settings.memoryHeadroomRatio * Math.max(0, ...workingSets);
  const unknown = containers.some((container) => container.memoryWorkingSetBytes === undefined);
  return {
    replicas: Math.max(1, spec.minReplicas),
    cpuCores: Math.min(size.cpuCores, spec.cpu.minCores),
    memoryBytes: unknown
      ? size.memoryBytes
      : Math.min(size.memoryBytes, Math.max(spec.memory.minBytes, needed)),
  };
}

/** Own times as they are now, by service number. */
interface Now {
  readonly ownTail: Float64Array;
  readonly meanOverTail: Float64Array;
}

function calibrationOf(flow: FlowWindow, graph: FlowGraph, now: Now, { objective }: Application): number {
  const predicted = new FlowTail(graph, now.ownTail, now.meanOverTail).tailSeconds;
  if (flow.latency.count < TELLING_CALLS || !(predicted > 0)) return 1;
  return correction(flowTailSeconds(flow.latency, objective.percentile) / predicted);
}
