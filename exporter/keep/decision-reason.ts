import { overrideReason } from "@tradewind/core/contract/override.ts";
import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { DecisionReason, ReadReason, Reason } from "@tradewind/core/contract/reason.ts";
import { areWhole, distinct, factsOfReasons, inWords, sentenceOf } from "@tradewind/core/contract/reasons.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";

const MOST_CHARACTERS = 1_000;

/** The same in one text, as a list, and as one object with all numbers. */
export interface ReasonedDecision extends DecisionReason {
  readonly reasons: ReadReason[];
}

/** The sizes before a decision, as far as its record says: the last decision in force, else what ran. */
export function sizesBefore({ context, wish }: DecisionRecord): Partial<Allocation> {
  const { baseMemoryBytes, runningCpuCores } = wish.evidence;
  const { replicasWanted } = wish.observed;
  return {
    ...(replicasWanted !== undefined && { replicas: replicasWanted }),
    ...(runningCpuCores !== undefined && { cpuCores: runningCpuCores }),
    ...(baseMemoryBytes !== undefined && { memoryBytes: baseMemoryBytes }),
    ...context.previous,
  };
}

/**
 * Why a decision is what it is: measured, causes, guard steps, the change of the sizes, what was expected of it, and the best size beside it.
 * @param before sizes that the change is counted from: the text says the same arrow as the line that it stands in
 */
export function reasonOf(record: DecisionRecord, before = sizesBefore(record)): ReasonedDecision {
  const proposal = record.wish.reasons ?? [];
  const guarded = record.actions.flatMap(({ reasons = [] }) => reasons);
  const pauses = comesFirst(record);
  const all = [...proposal, ...guarded];
  if (proposal.length === 0 || !areWhole(all)) {
    const steps = record.actions.map(({ reason, step }) => `${step}: ${reason}`);
    const text = [record.wish.reason, ...pauses.map(sentenceOf), ...steps].join("; ");
    return reasoned(distinct([...proposal, ...pauses, ...guarded]), text, record, before);
  }
  const unmoved = (proposal as Reason[]).filter(({ code }) => !MOVES.has(code));
  const reasons = distinct([
    ...unmoved.filter(({ code }) => !FOLLOWS.has(code)),
    ...pauses,
    ...(guarded as Reason[]),
    ...movesOf(record, before),
    ...stepOf(record),
    ...unmoved.filter(({ code }) => FOLLOWS.has(code)),
  ]);
  return reasoned(reasons, inWords(reasons, MOST_CHARACTERS), record, before);
}

function reasoned(
  reasons: ReadReason[],
  text: string,
  record: DecisionRecord,
  before: Partial<Allocation>,
): ReasonedDecision {
  return {
    code: codeOf(reasons, record, before),
    text: text.slice(0, MOST_CHARACTERS),
    facts: factsOf(reasons, record, before),
    reasons,
  };
}

/** What happens to the sizes. */
const MOVES: ReadonlySet<string> = new Set(["replicas", "cpu-cores", "memory-peak", "memory-bytes"]);
/** What stands behind the change. */
const FOLLOWS: ReadonlySet<string> = new Set(["expected", "alternative", "data-missing"]);
/** What every decision may say, whatever is particular to the service. */
const COMMON: ReadonlySet<string> = new Set([
  ...MOVES,
  "measured",
  "slo-met",
  "slo-violated",
  "expected",
  "alternative",
  "data-missing",
  "guard-step",
]);

function movesOf({ final, wish }: DecisionRecord, before: Partial<Allocation>): Reason[] {
  const moves: Reason[] = [];
  const asked = (wish.reasons as readonly Reason[]).find((reason) => reason.code === "replicas");
  const isAsked = asked?.code === "replicas" && asked.toReplicas === final.replicas;
  const { neededReplicas, runningReplicas } = isAsked ? asked : {};
  const fromReplicas = before.replicas ?? wish.evidence["baseReplicas"] ?? final.replicas;
  moves.push({
    code: "replicas",
    fromReplicas,
    toReplicas: final.replicas,
    ...(neededReplicas !== undefined && { neededReplicas }),
    ...(runningReplicas !== undefined && fromReplicas === final.replicas && { runningReplicas }),
  });
  const [fromCores, toCores] = [before.cpuCores, final.cpuCores];
  if (fromCores !== undefined && toCores !== undefined && fromCores !== toCores)
    moves.push({ code: "cpu-cores", fromCores, toCores });
  const [fromBytes, toBytes] = [before.memoryBytes, final.memoryBytes];
  if (fromBytes === undefined || toBytes === undefined || fromBytes === toBytes) return moves;
  const peak = (wish.reasons as readonly Reason[]).find((reason) => reason.code === "memory-peak");
  const isPeak = peak?.code === "memory-peak" && peak.toBytes === toBytes;
  moves.push(isPeak ? { ...peak, fromBytes } : { code: "memory-bytes", fromBytes, toBytes });
  return moves;
}

/** The guard step that made the sizes what they are, and what was asked for instead. */
function stepOf({ actions, final, wish: { allocation } }: DecisionRecord): Reason[] {
  const last = actions.at(-1);
  if (last === undefined) return [];
  const { cpuCores, memoryBytes, replicas } = allocation;
  const proposed = {
    ...(replicas !== final.replicas && { proposedReplicas: replicas }),
    ...(cpuCores !== undefined && cpuCores !== final.cpuCores && { proposedCores: cpuCores }),
    ...(memoryBytes !== undefined && memoryBytes !== final.memoryBytes && { proposedBytes: memoryBytes }),
  };
  return Object.keys(proposed).length === 0 ? [] : [{ code: "guard-step", step: last.step, ...proposed }];
}

/** Who overrides the plan; what holds its autoscaler still; a service that others made room for says so, as they do. */
function comesFirst({ actions, context, wish: { observed } }: DecisionRecord): Reason[] {
  const { madeRoom, override, room } = context;
  // Where the guard changed a size for it, its step says so.
  const isSaid = override === undefined || actions.some(({ step }) => step === "override");
  return [
    ...(isSaid ? [] : [overrideReason(override)]),
    ...(observed.scalingPaused === undefined ? [] : [pauseOf(observed.scalingPaused)]),
    ...(room?.behind === undefined
      ? []
      : [{ code: "quota-first" as const, quota: room.quota, behind: room.behind }]),
    ...(madeRoom === undefined ? [] : [{ code: "brownout-first" as const, services: madeRoom }]),
  ];
}

const pauseOf = (paused: NonNullable<DecisionRecord["wish"]["observed"]["scalingPaused"]>): Reason =>
  paused === "multiplied" ? { code: "metric-type-value" } : { code: "scaling-paused" };

function codeOf(reasons: readonly ReadReason[], record: DecisionRecord, before: Partial<Allocation>): string {
  const guarded = stepOf(record).length > 0 ? record.actions.at(-1)?.reasons?.[0]?.code : undefined;
  const particular = guarded ?? reasons.find(({ code }) => !COMMON.has(code))?.code;
  if (particular !== undefined) return particular;
  const measured = (reasons as readonly Reason[]).find((reason) => reason.code === "measured");
  const isMissed = measured?.code === "measured" && measured.latencySeconds > measured.objectiveSeconds;
  return `${directionOf(before, record.final)}${measured === undefined ? "" : isMissed ? "-missed" : "-met"}`;
}

/** `trade`: more of one resource for less of another. */
function directionOf(before: Partial<Allocation>, final: Allocation): "grow" | "keep" | "shrink" | "trade" {
  const signs = (["replicas", "cpuCores", "memoryBytes"] as const).map((size) =>
    Math.sign((final[size] ?? 0) - (final[size] === undefined ? 0 : (before[size] ?? final[size]))),
  );
  const [grows, shrinks] = [1, -1].map((sign) => signs.some((each) => each === sign));
  if (grows === true && shrinks === true) return "trade";
  return grows === true ? "grow" : shrinks === true ? "shrink" : "keep";
}

function factsOf(
  reasons: readonly ReadReason[],
  { final, wish }: DecisionRecord,
  before: Partial<Allocation>,
): DecisionReason["facts"] {
  const { cpuUtilisation: cpuUsedRatio, requestsPerSecond: serviceRequestsPerSecond } = wish.evidence;
  return {
    ...factsOfReasons(reasons),
    ...(before.replicas !== undefined && { fromReplicas: before.replicas }),
    toReplicas: final.replicas,
    confidence: wish.confidence,
    ...(cpuUsedRatio !== undefined && { cpuUsedRatio }),
    ...(serviceRequestsPerSecond !== undefined && { serviceRequestsPerSecond }),
  };
}
