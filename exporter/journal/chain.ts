import { createHash } from "node:crypto";
import type { AuditRow } from "@tradewind/core/contract/audit.ts";

/** What stands in the place of the hash before the first row. */
export const FIRST_HASH = "0".repeat(64);

/** SHA-256 of the hash before and the row. */
export function chained(before: string, row: string): string {
  return createHash("sha256").update(before).update(row).digest("hex");
}

/** What a walk along the chain came to. */
export interface ChainVerdict {
  readonly rows: number;
  /** Hash of the last row: kept elsewhere, it shows whether later rows were cut off. */
  readonly head: string;
  /** The first row that does not follow from those before it. */
  readonly brokenAt?: number;
}

/** Walks along the rows from the first one kept. @param before the hash before that one */
export function verifyChain(rows: Iterable<AuditRow>, before: string | undefined): ChainVerdict {
  let [count, head, expected] = [0, before ?? FIRST_HASH, undefined as number | undefined];
  for (const { hash, row, seq } of rows) {
    const follows = (expected === undefined || seq === expected) && chained(head, row) === hash;
    if (!follows) return { rows: count, head, brokenAt: seq };
    head = hash;
    expected = seq + 1;
    count += 1;
  }
  return { rows: count, head };
}
