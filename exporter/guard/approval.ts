import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { ApprovalContext } from "@tradewind/core/contract/change.ts";
import { contentHash } from "@tradewind/core/hash.ts";
import { previousAllocation } from "./baseline.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/** In the emergency lane: latency is this many times the objective in two decisions in a row. */
const EMERGENCY_SEVERITY = 2;
const ID_CHARACTERS = 10;

/**
 * Holds a change of replicas that is larger than the application allows without a person, until it was approved and is due. Growth
 * that CPU demand needs goes on, and so does all growth in an emergency.
 */
export const approval: GuardStep = {
  name: "approval",
  apply: (allocation, context) => {
    const { approval: given, mode = "act" } = context;
    const { replicasReady, replicasWanted } = context.wish.observed;
    const base = previousAllocation(context)?.replicas ?? replicasWanted ?? replicasReady;
    if (given === undefined || mode !== "act" || base === undefined) return null;
    const { replicas: to } = allocation;
    const { referenceReplicas: from, replicasRatio } = given;
    const isUp = to > from;
    if (Math.abs(to - from) <= replicasRatio * Math.max(1, from)) return null;
    // Back towards the reference, or no step at all.
    if (isUp ? to <= base : to >= base) return null;
    if (isUp && isEmergency(context, given)) return null;
    const allowed = isUp
      ? Math.max(base, growth(context, given, to))
      : Math.min(base, shrinkage(context, given, to));
    if (allowed === to) return null;
    const change = openChange(given, isUp)?.id ?? changeId(context, allocation, given);
    return {
      allocation: { ...allocation, replicas: allowed },
      reason: {
        code: "approval-awaited",
        change,
        fromReplicas: from,
        toReplicas: openChange(given, isUp)?.toReplicas ?? to,
        expiresMs: given.expiresMs,
      },
    };
  },
};

function isEmergency({ wish }: GuardContext, { severityBefore }: ApprovalContext): boolean {
  const severity = wish.evidence["tailOverObjective"] ?? 0;
  return Math.min(severity, severityBefore) >= EMERGENCY_SEVERITY;
}

function growth(context: GuardContext, given: ApprovalContext, to: number): number {
  const need = Math.ceil(context.wish.evidence["needReplicas"] ?? 0);
  return Math.min(to, Math.max(need, approvedReplicas(context, given, true) ?? 0));
}

function shrinkage(context: GuardContext, given: ApprovalContext, to: number): number {
  return Math.max(to, approvedReplicas(context, given, false) ?? Infinity);
}

function approvedReplicas(
  { decidedAtMs }: GuardContext,
  { changes }: ApprovalContext,
  isUp: boolean,
): number | undefined {
  return changes.find(
    ({ fromReplicas, notBeforeMs = 0, state, toReplicas }) =>
      state === "approved" && notBeforeMs <= decidedAtMs && toReplicas > fromReplicas === isUp,
  )?.toReplicas;
}

/** The one that people were shown, or that is approved for later. */
function openChange(
  { changes }: ApprovalContext,
  isUp: boolean,
): ApprovalContext["changes"][number] | undefined {
  return changes.find(({ fromReplicas, toReplicas }) => toReplicas > fromReplicas === isUp);
}

/** The same in every exporter that reads the same plans. */
function changeId({ wish }: GuardContext, { replicas }: Allocation, given: ApprovalContext): string {
  const { namespace, service } = wish;
  const what = [namespace, service, given.referenceReplicas, replicas, given.expiresMs];
  return contentHash(what).slice(0, ID_CHARACTERS);
}
