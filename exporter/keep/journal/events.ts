import { createHash } from "node:crypto";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { codesOf } from "@tradewind/core/contract/reasons.ts";
import type { BookEntry } from "../book-entry.ts";
import { reasonOf } from "../decision-reason.ts";

/**
 * What the audit trail says of a decision; nothing where it left every size as it was.
 * @param last the decision before, whatever its mode
 */
export function decisionEvents(
  entry: BookEntry,
  last: BookEntry | undefined,
): Extract<AuditEvent, { kind: "decision" }>[] {
  const { final, json, mode, recommendation } = entry;
  const isFirstAct = mode === "act" && last?.mode !== "act";
  const observed = isFirstAct ? entry.observed : { ...entry.observed, ...last?.final };
  const { application, decidedAtMs, decisionId, namespace, policy, reasons, service } = recommendation;
  // A size that the decision does not state is left as it is.
  if (SIZES.every((size) => final[size] === undefined || observed[size] === final[size])) return [];
  const { code, facts, text } = reasonOf(JSON.parse(json) as DecisionRecord, observed);
  return [
    {
      kind: "decision",
      application,
      namespace,
      service,
      atMs: decidedAtMs,
      decisionId,
      mode,
      policy,
      before: observed,
      after: final,
      codes: codesOf(reasons),
      reason: { code, text, facts },
      recordHash: createHash("sha256").update(json).digest("hex"),
    },
  ];
}
