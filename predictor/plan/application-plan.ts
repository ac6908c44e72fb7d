import type { Application, ServiceSpec } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/main-containers.ts";
import type { AttentionModel } from "../endtoend/attention-model.ts";
import type { ServiceIndex } from "../endtoend/call-graph.ts";
import { compileFlow, serviceIndex } from "../endtoend/call-graph.ts";
import { bindResidual, FlowPredictor } from "../endtoend/flow-predictor.ts";
import type { FlowResidual } from "../endtoend/flow-predictor.ts";
import { meanOverTail } from "../endtoend/lognormal.ts";
import type { LatencyProfile } from "../profile/latency-profile.ts";
import { WorstContainer } from "../profile/own-tail.ts";
import { presentState } from "../profile/present-state.ts";
import type { ServiceState } from "../profile/service-state.ts";
import { allocatedCpuCores, allocatedMemoryBytes } from "../profile/window-inputs.ts";
import { flowTailSeconds } from "../queue/objective.ts";
import type { OwnTailModel, PlanService, Size } from "./plan-service.ts";
import { correctionOf, shownBy } from "./correction.ts";
import { prepare } from "./prepare.ts";
import type { PlanOptions, Prepared } from "./prepare.ts";
import { boundsOf } from "./service-bounds.ts";

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
  /** Size of a container that the plan starts from, where a wish for another one is on its way. */
  readonly container?: ContainerSize;
  /** What of a container's size the platform can change while it runs; all by default. */
  readonly resizable?: { readonly cpu: boolean; readonly memory: boolean };
  /** False in a window in which pods start or a queue is worked off: then it says little of the profile. */
  readonly steady?: boolean;
  /** Measured over predicted own tail, as learnt in steady windows. */
  readonly correction?: number;
  /** What one plan may change at most. */
  readonly limits?: ServiceLimits;
}

export interface ContainerSize {
  readonly cpuCores: number;
  /** 0 where none is allocated. */
  readonly memoryBytes: number;
}

export interface ServiceLimits {
  readonly mostReplicas?: number;
  /** CPU of all containers together that must be left, and that a plan may come to, cores. */
  readonly leastCpuCores?: number;
  readonly mostCpuCores?: number;
  /** CPU that each container must keep, cores. */
  readonly leastContainerCores?: number;
  readonly mostContainerCores?: number;
  /** Most that the containers ever used, bytes; absent: the working set of the window. */
  readonly memoryPeakBytes?: number;
  /** False forbids fewer replicas that are larger for it. */
  readonly mayMerge?: boolean;
  /** Forbids taking anything back here. */
  readonly mayTakeBack?: boolean;
}

export interface PlanSettings {
  /** Least share of capacity that stays free of the CPU demand measured now. */
  readonly targetUtilisation: number;
  /** Memory kept above the working set. */
  readonly memoryHeadroomRatio: number;
  /** Steps one plan may take back per service when its profile is fully trusted. */
  readonly stepsBack: number;
  readonly slackRatio: number;
  readonly freeRatio?: number;
  readonly ranking: PlanOptions["ranking"];
  readonly maxSteps: number;
  readonly aimRatio?: number;
  /** The objective is missed as measured: steps are given down to the aim, whatever is predicted. */
  readonly cures?: boolean;
  readonly mayGive?: boolean;
  readonly leastGainRatio?: number;
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
  /** What all nodes have together: no step goes beyond it, though what CPU demand needs may. */
  readonly capacity?: ContainerSize;
  /** Learnt residuals of flows; those of another percentile than the objective's are not used. */
  readonly residuals?: readonly AttentionModel[];
  /** Measured over predicted tail by name of the flow, as learnt in steady windows. */
  readonly flowCorrections?: ReadonlyMap<string, number>;
}

export interface ApplicationPlan extends Prepared {
  /** Services in the order of `sizes`. */
  readonly services: readonly PlanService[];
  /** Confidence in each service's own tail at its planned size, in [0, 1]; 0 without a profile. */
  readonly confidence: readonly number[];
  /** The flows in the order of `flowTails`. */
  readonly flows: readonly FlowWindow[];
  /** Corrections that a steady window has shown, by service and by flow: to be learnt from. */
  readonly shown: {
    readonly services: ReadonlyMap<string, number>;
    readonly flows: ReadonlyMap<string, number>;
  };
}

/** Windows with fewer calls than this do not correct a profile. */
const TELLING_CALLS = 20;

/** Calls of a flow from which on its tail corrects the prediction at all. */
const LEAST_CALLS = 5;

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
  const specOf = serviceSpecs(application);
  const services = windows.map((window, at) =>
    planService(window, models[at], request, specOf(window.service)),
  );
  const now: Now = {
    ownTail: Float64Array.from(services, ({ measuredOwnTailSeconds }, at) =>
      isTelling(windows[at]) ? measuredOwnTailSeconds : (models[at]?.nowSeconds ?? measuredOwnTailSeconds),
    ),
    meanOverTail: Float64Array.from(services, ({ meanOverTail }) => meanOverTail),
  };
  const index = serviceIndex(windows.map(({ service }) => service));
  const flows = windowSet.flows
    .filter(({ entryService }) => entryService === application.entry)
    .flatMap((flow) => {
      const graph = compileFlow(flow, windowSet, index);
      if (graph === undefined) return [];
      const residual = residualOf(flow, index, request);
      const predicted = new FlowPredictor(graph, now.ownTail, now.meanOverTail, residual).tailSeconds;
      const calibration = calibrationOf(flow, predicted, request);
      return [{ flow, graph, ...calibration, ...(residual && { residual }) }];
    });
  const prepared = prepare(services, flows, {
    objectiveSeconds: application.objective.milliseconds / 1e3,
    slackRatio: settings.slackRatio,
    ranking: settings.ranking,
    maxSteps: settings.maxSteps,
    ...(settings.freeRatio !== undefined && { freeRatio: settings.freeRatio }),
    ...(settings.aimRatio !== undefined && { aimRatio: settings.aimRatio }),
    ...(settings.cures !== undefined && { cures: settings.cures }),
    ...(settings.mayGive !== undefined && { mayGive: settings.mayGive }),
    ...(settings.leastGainRatio !== undefined && { leastGainRatio: settings.leastGainRatio }),
    prices: application.prices,
    quota: {
      ...(application.budget.pods !== undefined && { pods: application.budget.pods }),
      ...request.capacity,
    },
    ...(request.largestContainer && { largestContainer: request.largestContainer }),
  });
  const confidence = models.map((model, at) => confidenceIn(model, services[at], prepared.sizes[at]));
  const shown = {
    services: shownOf(models.map((model, at) => [services[at]?.name, model?.shown])),
    flows: shownOf(flows.map(({ flow, shown }) => [flow.flow, shown])),
  };
  return { ...prepared, services, confidence, flows: flows.map(({ flow }) => flow), shown };
}

function shownOf(
  corrections: readonly (readonly [string | undefined, number | undefined])[],
): ReadonlyMap<string, number> {
  return new Map(
    corrections.flatMap(([name, shown]): [string, number][] =>
      name === undefined || shown === undefined ? [] : [[name, shown]],
    ),
  );
}

function confidenceIn(
  corrected: CorrectedModel | undefined,
  service: PlanService | undefined,
  size: Size | undefined,
): number {
  if (corrected === undefined || service === undefined || size === undefined) return 0;
  corrected.model.ownTailSeconds(size.cpuCores, size.memoryBytes, service.requestsPerSecond / size.replicas);
  return corrected.worst.lastConfidence;
}

function isTelling(window: Window | undefined): boolean {
  return (window?.ownLatency?.count ?? 0) >= TELLING_CALLS;
}

interface CorrectedModel {
  readonly worst: WorstContainer;
  readonly model: OwnTailModel;
  /** Own tail as the service is now, seconds. */
  readonly nowSeconds: number;
  /** Correction, where the window is steady. */
  readonly shown: number | undefined;
}

function modelOf(window: Window, known: KnownService | undefined): CorrectedModel | undefined {
  const size = containerSize(window);
  if (known?.profile === undefined || size === undefined || known.baseReplicas < 1) return undefined;
  const state = known.state && presentState(known.state, window, known.profile.inflation);
  const worst = new WorstContainer(known.profile, window, state);
  const load = (window.requestsPerSecond ?? 0) / Math.max(1, window.replicasReady ?? known.baseReplicas);
  const predicted = worst.settle(size.cpuCores, size.memoryBytes || Number.NaN, load);
  const ratio = (window.ownLatency?.p95Seconds ?? Number.NaN) / predicted;
  const steady = known.steady !== false && isTelling(window);
  const calls = window.ownLatency?.count ?? 0;
  const factor = correctionOf({ ratio, steady, calls, learnt: known.correction });
  return {
    worst,
    shown: steady ? shownBy(ratio) : undefined,
    nowSeconds: factor * predicted,
    model: {
      ownTailSeconds: (cpuCores, memoryBytes, requestsPerSecond) =>
        factor * worst.ownTailSeconds(cpuCores, memoryBytes || Number.NaN, requestsPerSecond),
    },
  };
}

/** Mean size of the main containers; undefined when no CPU is allocated. Memory is 0 where none is. */
export function containerSize(window: Pick<Window, "containers">): ContainerSize | undefined {
  const containers = mainContainers(window);
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
  spec: ServiceSpec,
): PlanService {
  const { settings } = request;
  const known = request.known.get(window.service);
  const size = startOf(window, known);
  const leastCpuCores = leastCoresOf(known, settings);
  return {
    name: window.service,
    requestsPerSecond: known?.requestsPerSecondAhead ?? window.requestsPerSecond ?? 0,
    size,
    ...boundsOf(window, spec, size, { known, settings }),
    ...(leastCpuCores > 0 && { leastCpuCores }),
    ...(known?.limits?.mostCpuCores !== undefined && { mostCpuCores: known.limits.mostCpuCores }),
    ...(known?.limits?.mayMerge !== undefined && { mayMerge: known.limits.mayMerge }),
    stepCpuCores: spec.cpu.stepCores,
    stepMemoryBytes: spec.memory.stepBytes,
    quantum: { cpuCores: spec.cpu.stepCores, memoryBytes: spec.memory.stepBytes },
    ...(corrected && { model: corrected.model }),
    measuredOwnTailSeconds: window.ownLatency?.p95Seconds ?? 0,
    meanOverTail: meanOverTail(window.ownLatency),
    maxStepsBack: request.mayTakeBack ? stepsBackOf(corrected, known, settings) : 0,
  };
}

function startOf(window: Window, known: KnownService | undefined): Size {
  const container = known?.container ?? containerSize(window) ?? { cpuCores: 0, memoryBytes: 0 };
  return { replicas: known?.baseReplicas ?? 0, ...container };
}

function leastCoresOf(known: KnownService | undefined, settings: PlanSettings): number {
  return Math.max((known?.demandCores ?? 0) / settings.targetUtilisation, known?.limits?.leastCpuCores ?? 0);
}

function stepsBackOf(
  corrected: CorrectedModel | undefined,
  known: KnownService | undefined,
  settings: PlanSettings,
): number {
  const confidence = corrected?.worst.leastConfidence ?? 0;
  if (confidence < LEAST_CONFIDENCE || known?.limits?.mayTakeBack === false) return 0;
  return Math.max(1, Math.round(settings.stepsBack * confidence));
}

/** Own times as they are now, by service number. */
interface Now {
  readonly ownTail: Float64Array;
  readonly meanOverTail: Float64Array;
}

/** What has been learnt of the flow at the objective's percentile. */
function residualOf(
  { flow }: FlowWindow,
  index: ServiceIndex,
  { application, residuals = [] }: PlanRequest,
): FlowResidual | undefined {
  const { percentile } = application.objective;
  const model = residuals.find((each) => each.flow === flow && each.percentile === percentile);
  return model && bindResidual(model, index);
}

interface Calibration {
  readonly calibration: number;
  /** Correction, where the window is steady. */
  readonly shown: number | undefined;
}

function calibrationOf(flow: FlowWindow, predicted: number, request: PlanRequest): Calibration {
  const learnt = request.flowCorrections?.get(flow.flow);
  const calls = flow.latency.count;
  if (calls < LEAST_CALLS) return { calibration: learnt ?? 1, shown: undefined };
  const { percentile } = request.application.objective;
  const ratio = flowTailSeconds(flow.latency, percentile) / predicted;
  const steady = isSteady(flow, request);
  return {
    calibration: correctionOf({ ratio, steady, calls, learnt }),
    shown: steady ? shownBy(ratio) : undefined,
  };
}

/** Enough calls, and every service of the flow in a steady window. */
function isSteady({ latency, services }: FlowWindow, { known }: PlanRequest): boolean {
  return latency.count >= TELLING_CALLS && services.every((service) => known.get(service)?.steady !== false);
}
