import type { WishStep } from "@tradewind/core/contract/plan.ts";
import type { ApplicationPlan, ContainerSize } from "../../plan/application-plan.ts";
import { roundedUp } from "../../plan/plan-service.ts";
import type { Balancing } from "../balance/queue-balancing.ts";
import { floorTarget } from "../floor.ts";
import { statedSize } from "../observe/container-size.ts";
import type { StatedSize } from "../observe/container-size.ts";
import { boundedByNode } from "../observe/node-bounds.ts";
import type { Observation } from "../observe/observation.ts";
import type { PolicySettings } from "../settings.ts";
import type { Standing } from "../standing.ts";
import { bounded, percent, pods } from "../target.ts";
import type { PlannedTarget, Target, Targets } from "../target.ts";
import { stepsByService } from "./plan-steps.ts";
import type { Readiness } from "./readiness.ts";
import type { StartSize } from "./start-size.ts";

export interface TargetFacts {
  readonly ready: Readiness;
  readonly standing: Standing;
  readonly settings: PolicySettings;
  /** Absent when there was nothing to plan with. */
  readonly plan: ApplicationPlan | undefined;
  /** What queue balancing gives, to the services that it counts for. */
  readonly growth: Balancing | undefined;
  /** What the largest node has room for; undefined where that is not known. */
  readonly largestContainer: ContainerSize | undefined;
}

/**
 * What a plan comes to for each service: never less than its start, nor, where it has no profile or plans did not end the
 * miss, than what growth by queues would give.
 */
export function plannedTargets(
  observations: readonly Observation[],
  starts: ReadonlyMap<string, StartSize>,
  facts: TargetFacts,
): Targets {
  const sizes = plannedSizes(facts);
  return new Map(
    observations.map((one): [string, Target] => {
      const start = starts.get(one.service) ?? { replicas: bounded(one, one.baseReplicas), raised: false };
      return [one.service, targetOf(one, start, sizes.get(one.service), facts)];
    }),
  );
}

interface PlannedSize {
  readonly replicas: number;
  readonly container: ContainerSize;
  readonly steps: readonly WishStep[];
  readonly confidence: number;
  readonly latencyAfterSeconds?: number;
  readonly correction?: number;
}

function plannedSizes({ plan, ready }: TargetFacts): ReadonlyMap<string, PlannedSize> {
  const sizes = new Map<string, PlannedSize>();
  if (plan === undefined) return sizes;
  const steps = stepsByService(plan.steps);
  const slowest = slowestAfter(plan);
  for (const [at, { name, model }] of plan.services.entries()) {
    const size = plan.sizes[at];
    if (size === undefined || model === undefined || !ready.profiles.has(name)) continue;
    const latencyAfterSeconds = slowest.get(name);
    const correction = plan.shown.services.get(name);
    sizes.set(name, {
      replicas: size.replicas,
      container: { cpuCores: size.cpuCores, memoryBytes: size.memoryBytes },
      steps: steps.get(name) ?? [],
      confidence: plan.confidence[at] ?? 0,
      ...(latencyAfterSeconds !== undefined && { latencyAfterSeconds }),
      ...(correction !== undefined && { correction }),
    });
  }
  return sizes;
}

/** Predicted tail of the slowest flow through each service, seconds. */
function slowestAfter({ flows, flowTails }: ApplicationPlan): ReadonlyMap<string, number> {
  const slowest = new Map<string, number>();
  for (const [at, { services }] of flows.entries()) {
    const seconds = flowTails[at]?.afterSeconds ?? 0;
    for (const service of services) slowest.set(service, Math.max(slowest.get(service) ?? 0, seconds));
  }
  return slowest;
}

function targetOf(
  observation: Observation,
  start: StartSize,
  planned: PlannedSize | undefined,
  { growth, largestContainer, ready, settings, standing }: TargetFacts,
): Target {
  const own = planned === undefined ? start : withoutJitter(planned, start, settings, standing);
  const grown = growth?.targets.get(observation.service);
  const size =
    grown === undefined
      ? own
      : withGrowth(boundedByNode(observation, largestContainer), grown, own, settings);
  const replicas = bounded(observation, size.replicas);
  const stated = statedSize(observation, size.container);
  const usable = ready.profiles.get(observation.service);
  const target = {
    replicas,
    ...stated,
    ...(planned && usable && { planned: plannedFacts(planned, usable.hash) }),
  };
  const change = describeChange(observation, replicas, stated);
  if (isMore(size, own)) {
    return {
      ...target,
      policy: "queue",
      reason: `${standing.words}, as much as its queue calls for: ${change}`,
    };
  }
  if (planned !== undefined && usable !== undefined && (planned.steps.length > 0 || !start.raised)) {
    return {
      ...target,
      policy: usable.rung,
      reason: `${standing.words}: ${change}${bought(observation, start, planned)}`,
    };
  }
  const floor = floorTarget(observation);
  if (!start.raised) return { ...target, policy: floor.policy, reason: floor.reason };
  if (standing.surgeRatio !== undefined) {
    return { ...target, policy: "reactive", reason: `${standing.words}: ${change}` };
  }
  const use =
    observation.utilisation === undefined ? "" : ` at ${percent(observation.utilisation)} of capacity`;
  return { ...target, policy: "reactive", reason: `what it uses calls for more${use}: ${change}` };
}

function isMore(size: StartSize, than: StartSize): boolean {
  return size.replicas > than.replicas || (size.container?.cpuCores ?? 0) > (than.container?.cpuCores ?? 0);
}

/** Steps too small to be worth a change are left out, unless they cure a miss. */
function withoutJitter(
  planned: PlannedSize,
  start: StartSize,
  { planner }: PolicySettings,
  { clearlyMissed }: Standing,
): StartSize {
  const from = start.container ?? planned.container;
  const settled = (next: number, before: number): number =>
    !clearlyMissed && Math.abs(next - before) < planner.deadBandRatio * before ? before : next;
  return {
    replicas: planned.replicas,
    container: {
      cpuCores: settled(planned.container.cpuCores, from.cpuCores),
      memoryBytes: settled(planned.container.memoryBytes, from.memoryBytes),
    },
    raised: start.raised,
  };
}

/**
 * A size with as much CPU as growth by queues gives with containers of the present size: larger containers where CPU is what
 * is short, since that is done at once and pays for no second memory, else replicas. What does not fit into the largest
 * container is shared out evenly; a replica that would hardly be used is not added.
 */
function withGrowth(
  observation: Observation,
  grown: Target,
  size: StartSize,
  { planner, targetUtilisation }: PolicySettings,
): StartSize {
  const { container, resizable, spec, utilisation = 0 } = observation;
  const planned = size.container;
  if (container === undefined || planned === undefined || !(planned.cpuCores > 0)) {
    return { ...size, replicas: Math.max(size.replicas, grown.replicas) };
  }
  const totalCores = grown.replicas * container.cpuCores;
  const replicasOf = (cpuCores: number, slack: number): number =>
    Math.max(size.replicas, Math.ceil(totalCores / cpuCores - slack));
  if (!resizable.cpu || utilisation <= targetUtilisation) {
    return { ...size, replicas: replicasOf(planned.cpuCores, 1e-9) };
  }
  const mostCores = Math.max(planned.cpuCores, spec.cpu.maxCores);
  const replicas = replicasOf(mostCores, planner.deadBandRatio);
  const each = Math.min(roundedUp(totalCores / replicas, spec.cpu.stepCores), mostCores);
  return { ...size, container: { ...planned, cpuCores: Math.max(planned.cpuCores, each) }, replicas };
}

function plannedFacts(
  { steps, confidence, correction, latencyAfterSeconds }: PlannedSize,
  modelHash: string,
): PlannedTarget {
  return {
    steps,
    confidence,
    modelHash,
    ...(correction !== undefined && { correction }),
    ...(latencyAfterSeconds !== undefined && { latencyAfterSeconds }),
  };
}

function describeChange(
  { baseReplicas, container }: Observation,
  replicas: number,
  { cpuCores, memoryBytes }: StatedSize,
): string {
  const parts: string[] = [];
  const change = replicas - baseReplicas;
  if (change > 0) parts.push(`${pods(change)} more`);
  if (change < 0) parts.push(`${pods(-change)} fewer`);
  if (cpuCores !== undefined && container !== undefined && cpuCores !== container.cpuCores) {
    parts.push(`${cores(container.cpuCores)} to ${cores(cpuCores)} cores each`);
  }
  if (memoryBytes !== undefined && container !== undefined && memoryBytes !== container.memoryBytes) {
    parts.push(`${megabytes(container.memoryBytes)} to ${megabytes(memoryBytes)} MB each`);
  }
  return parts.length === 0 ? `keeps ${replicas}` : parts.join(", ");
}

/** What the steps buy and cost, apart from what CPU demand calls for anyway. */
function bought({ container }: Observation, start: StartSize, { steps }: PlannedSize): string {
  if (steps.length === 0) return "";
  const seconds = steps.reduce((sum, step) => sum + step.tailAfterSeconds - step.tailBeforeSeconds, 0);
  const cost = steps.reduce((sum, step) => sum + step.costPerHour, 0);
  const tail = `${Math.abs(1e3 * seconds).toFixed(0)} ms ${cost < 0 ? "more" : "less"} of the tail`;
  const price = `${Math.abs(cost).toFixed(4)} ${cost < 0 ? "less" : "more"} per hour`;
  if (!start.raised) return `: ${tail}, ${price}`;
  const hasGrown = start.container !== undefined && start.container.cpuCores > (container?.cpuCores ?? 0);
  const needed = hasGrown ? `${cores(start.container.cpuCores)} of them` : pods(start.replicas);
  return `, ${needed} for CPU demand alone; the rest: ${tail}, ${price}`;
}

const cores = (value: number): string => String(Number(value.toPrecision(3)));
const megabytes = (bytes: number): string => String(Math.round(bytes / 1e6));
