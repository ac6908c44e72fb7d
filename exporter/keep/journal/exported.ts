import { DecisionReason } from "@tradewind/core/contract/reason.ts";
import { AuditRow } from "@tradewind/core/contract/audit.ts";
import { z } from "zod";

/** A row as `tradewind audit export` prints it: with what the row says of a decision beside it, and what a later row says came of it. */
export const ExportedRow = AuditRow.extend({
  reason: DecisionReason.optional(),
  outcome: DecisionReason.optional(),
});
export type ExportedRow = z.infer<typeof ExportedRow>;

const Spoken = z.object({
  kind: z.string(),
  decisionId: z.string().optional(),
  reason: DecisionReason.optional(),
  outcome: DecisionReason.optional(),
});

/** @param rows gone through twice: what came of a decision stands behind it */
export function* exported(rows: () => Iterable<AuditRow>): Generator<ExportedRow> {
  const outcomes = new Map<string, DecisionReason>();
  for (const { row } of rows()) {
    const { decisionId, outcome } = spoken(row) ?? {};
    if (decisionId !== undefined && outcome !== undefined) outcomes.set(decisionId, outcome);
  }
  for (const { hash, row, seq } of rows()) {
    const { decisionId = "", kind, reason } = spoken(row) ?? {};
    const outcome = kind === "decision" ? outcomes.get(decisionId) : undefined;
    yield { seq, row, hash, ...(reason && { reason }), ...(outcome && { outcome }) };
  }
}

function spoken(row: string): z.infer<typeof Spoken> | undefined {
  try {
    return Spoken.safeParse(JSON.parse(row)).data;
  } catch {
    return undefined;
  }
}
