import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { ApprovalContext, SizeChange } from "@tradewind/core/contract/change.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { allocationOf, boundsOf, previousAllocation } from "./baseline.ts";
import { bounded } from "./bounds.ts";
import { calendar } from "./calendar.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/** In the emergency lane: latency is this many times the objective in two decisions in a row. */
const EMERGENCY_SEVERITY = 2;
const ID_CHARACTERS = 10;

type Resource = SizeChange["resource"];

/** What an allocation calls each resource. */
export const SIZE_OF = { replicas: "replicas", cpu: "cpuCores", memory: "memoryBytes" } as const;

/**
 * Holds a change of one size that is larger than the application allows without a person, until it was approved and is due. Growth that
 * demand needs goes on, and so does all growth in an emergency. While growth of containers waits no replicas are taken away, and while growth
 * of replicas waits no container shrinks: a plan may give the one in place of the other.
 */
const approvalOf = (resource: Resource): GuardStep => ({
  name: "approval",
  apply: (allocation, context) => {
    const { approval: settings, mode = "act" } = context;
    const step = largeStep(resource, allocation, context);
    if (settings === undefined || mode !== "act" || step === undefined) return null;
    const { from, isUp, to } = step;
    const open = settings.changes.find(
      (each) =>
        each.resource === resource &&
        each.to > each.from === isUp &&
        (each.asked === undefined || isDue(each, context)),
    );
    const allowed = allowedOf(resource, step, open, context);
    if (allowed === to) return null;
    const size = SIZE_OF[resource];
    const held = withSize(allocation, size, allowed);
    const { expiresMs } = settings;
    const change = open ?? { id: changeId(context, resource, { from, to, expiresMs }), from, to, expiresMs };
    return {
      allocation: isUp ? withoutTrade(held, size, context) : held,
      reason: {
        code: open?.state === "refused" ? "approval-refused" : "approval-awaited",
        change: change.id,
        resource,
        from: change.from,
        to: change.to,
        expiresMs: change.expiresMs,
      },
    };
  },
});

interface LargeStep {
  readonly from: number;
  readonly to: number;
  /** What may not be left without a person. */
  readonly base: number;
  readonly isUp: boolean;
  /** Of something that runs. Where containers state no size nothing grows: they would be bound by it for the first time. */
  readonly isGrowth: boolean;
}

/** A step that is too large; undefined for a small one, for one back towards the reference, and for growth in an emergency. */
function largeStep(resource: Resource, allocation: Allocation, context: GuardContext): LargeStep | undefined {
  const size = SIZE_OF[resource];
  const sizeInForce = inForce(context)[size];
  const asked = bounded(allocation, boundsOf(context))[size];
  const { approval: settings } = context;
  if (settings === undefined || asked === undefined || sizeInForce === undefined) return undefined;
  const fromSize = settings.reference[size] ?? sizeInForce;
  const toSize =
    asked < fromSize ? Math.min(fromSize, leftByCalendars(allocation, context)[size] ?? asked) : asked;
  if (!isLarge(resource, fromSize, toSize, settings)) return undefined;
  const isUp = toSize > fromSize;
  // What runs is reached without a person.
  const base = isUp ? Math.max(sizeInForce, running(context)[size] ?? 0) : sizeInForce;
  if (isUp ? toSize <= base : toSize >= base) return undefined;
  const isGrowth = isUp && (resource === "replicas" || base > 0);
  return isGrowth && isEmergency(context, settings)
    ? undefined
    : { from: fromSize, to: toSize, base, isUp, isGrowth };
}

/** Nobody is asked for what a calendar's floor keeps from being taken away. What a floor adds was set by a person. */
const leftByCalendars = (allocation: Allocation, context: GuardContext): Allocation =>
  bounded(calendar.apply(allocation, context)?.allocation ?? allocation, boundsOf(context));

type OpenChange = ApprovalContext["changes"][number];

function allowedOf(
  resource: Resource,
  { base, isGrowth, isUp, to }: LargeStep,
  open: OpenChange | undefined,
  context: GuardContext,
): number {
  const approved = open !== undefined && isDue(open, context) ? open.to : undefined;
  if (!isUp) return Math.min(base, Math.max(to, approved ?? Infinity));
  const needed = isGrowth ? need(resource, context) : 0;
  return Math.max(base, Math.min(to, Math.max(needed, approved ?? 0)));
}

/** Gives at least what somebody asked for beside the plan and a person approved, until that expires. */
const askedOf = (resource: Resource): GuardStep => ({
  name: "approval",
  apply: (allocation, context) => {
    const { approval: settings, mode = "act" } = context;
    const size = SIZE_OF[resource];
    const largest = settings?.changes
      .filter((each) => each.asked !== undefined && each.resource === resource)
      .filter((each) => each.state === "executed" || isDue(each, context))
      .reduce<OpenChange | undefined>((best, each) => (each.to > (best?.to ?? 0) ? each : best), undefined);
    if (mode !== "act" || largest?.asked === undefined) return null;
    const { asked, expiresMs, from, id, to } = largest;
    const now = allocation[size] ?? inForce(context)[size] ?? 0;
    if (expiresMs <= context.decidedAtMs || to <= now) return null;
    return {
      allocation: withSize(allocation, size, to),
      reason: { code: "asked-change", change: id, resource, from, to, expiresMs, by: asked.by },
    };
  },
});

const RESOURCES = ["cpu", "memory", "replicas"] as const;

/** One for each size; container sizes first, since replicas make up for a container that may not grow. */
export const approvals: readonly GuardStep[] = [...RESOURCES.map(askedOf), ...RESOURCES.map(approvalOf)];

/** A size that a person must be asked about, by an application's settings. */
export const isLargeChange = (
  { from, resource, to }: Pick<SizeChange, "from" | "resource" | "to">,
  ratios: Pick<ApprovalContext, "containerRatio" | "replicasRatio">,
): boolean => isLarge(resource, from, to, ratios);

interface Sizes {
  readonly replicas: number | undefined;
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/** Container sizes that are not known count as 0: whatever they become is a large change. */
function running({ wish }: GuardContext): Sizes {
  const { cpuCores = 0, memoryBytes = 0, replicasReady, replicasWanted } = wish.observed;
  return { replicas: replicasWanted ?? replicasReady, cpuCores, memoryBytes };
}

function inForce(context: GuardContext): Sizes {
  const { cpuCores, memoryBytes, replicas } = running(context);
  const previous = previousAllocation(context);
  return {
    replicas: previous?.replicas ?? replicas,
    cpuCores: previous?.cpuCores ?? cpuCores,
    memoryBytes: previous?.memoryBytes ?? memoryBytes,
  };
}

function isLarge(
  resource: Resource,
  from: number,
  to: number,
  { containerRatio, replicasRatio }: Pick<ApprovalContext, "containerRatio" | "replicasRatio">,
): boolean {
  const [ratio, least] = resource === "replicas" ? [replicasRatio, 1] : [containerRatio, 0];
  return Math.abs(to - from) > ratio * Math.max(least, from);
}

function isEmergency({ wish }: GuardContext, { severityBefore }: ApprovalContext): boolean {
  const severity = wish.evidence["tailOverObjective"] ?? 0;
  return Math.min(severity, severityBefore) >= EMERGENCY_SEVERITY;
}

/** What demand takes, without a reserve. Of CPU replicas are the need. */
function need(resource: Resource, { wish }: GuardContext): number {
  if (resource === "replicas") return Math.ceil(wish.evidence["needReplicas"] ?? 0);
  return resource === "memory" ? (wish.evidence["memoryPeakBytes"] ?? 0) : 0;
}

const isDue = ({ notBeforeMs = 0, state }: OpenChange, { decidedAtMs }: GuardContext): boolean =>
  state === "approved" && notBeforeMs <= decidedAtMs;

/** A container size of 0 is left out: it stays as it is. */
function withSize(allocation: Allocation, size: (typeof SIZE_OF)[Resource], value: number): Allocation {
  const { cpuCores, memoryBytes, replicas }: Allocation = Object.assign({}, allocation, { [size]: value });
  return allocationOf(
    replicas,
    cpuCores === 0 ? undefined : cpuCores,
    memoryBytes === 0 ? undefined : memoryBytes,
  );
}

/**
 * While growth of replicas waits no container shrinks below what is in force. While growth of containers waits the replicas stay, and
 * there are as many as the CPU demand needs at the present container size.
 */
function withoutTrade(
  { cpuCores, memoryBytes, replicas }: Allocation,
  waiting: (typeof SIZE_OF)[Resource],
  context: GuardContext,
): Allocation {
  const current = inForce(context);
  if (waiting === "replicas")
    return allocationOf(
      replicas,
      larger(cpuCores, current.cpuCores),
      larger(memoryBytes, current.memoryBytes),
    );
  const kept = Math.max(replicas, current.replicas ?? 0, need("replicas", context));
  return allocationOf(kept, cpuCores, memoryBytes);
}

const larger = (value: number | undefined, least: number): number | undefined =>
  value === undefined ? undefined : Math.max(value, least);

/** The same in every exporter that reads the same plans. */
function changeId(
  { wish }: GuardContext,
  resource: Resource,
  { expiresMs, from, to }: Pick<SizeChange, "from" | "to" | "expiresMs">,
): string {
  const { namespace, service } = wish;
  return contentHash([namespace, service, resource, from, to, expiresMs]).slice(0, ID_CHARACTERS);
}
