import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Head } from "./chain.ts";
import type { Change } from "@tradewind/core/contract/change.ts";

/** What is written together. */
export interface JournalBatch {
  readonly events: readonly AuditEvent[];
  readonly changes: readonly Change[];
  readonly nowMs: number;
}

/** To the thread that writes; `end`: close the journal, once all before is written. */
export type ToJournal = (JournalBatch & { readonly id: number }) | "end";

/** From it: it is on disk and what the newest row is, or what the problem is. */
export interface FromJournal {
  readonly id: number;
  readonly head: Head | undefined;
  readonly problem: string | undefined;
}
