import { z } from "zod";
import type { AuditRow } from "@tradewind/core/contract/audit.ts";
import { CHANGE_STATES } from "@tradewind/core/contract/change.ts";
import { Count, EpochMs } from "@tradewind/core/contract/quantity.ts";
import { chained, FIRST_HASH, sha256 } from "./hashes.ts";

const DAY_MS = 86_400_000;

const Hash = z.string().length(64);

/** A row in which the journal says why rows before its first one are missing. */
export const JournalNote = z.strictObject({
  kind: z.literal("journal"),
  atMs: EpochMs,
  /** Older than rows are kept; more than are kept; taken over from a release that wrote no such row. */
  why: z.enum(["age", "count", "upgrade"]),
  /** The last row that is missing, 0 for none, and its hash. */
  untilSeq: Count,
  hash: Hash,
  /** SHA-256 of the changes that were taken over, by id. */
  changes: z.record(z.string(), Hash).optional(),
});
export type JournalNote = z.infer<typeof JournalNote>;

/** What a row of a change says of the change as it was written. */
const ChangeRow = z.object({
  kind: z.enum(["change", "calendar"]),
  atMs: EpochMs,
  change: z.string(),
  state: z.enum(CHANGE_STATES),
  changeHash: Hash,
});
type ChangeRow = Pick<z.infer<typeof ChangeRow>, "atMs" | "changeHash" | "kind" | "state">;

/** A row of the chain that was noted elsewhere. */
export interface Head {
  readonly seq: number;
  readonly hash: string;
}

/** A change as it is kept beside the rows. */
export interface KeptChange {
  readonly id: string;
  readonly change: string;
}

/** Why a trail cannot be believed, with the row or the change that shows it. */
export type ChainProblem =
  | { readonly code: "broken" | "head-missing" | "head-left-out" | "rows-missing"; readonly seq: number }
  | { readonly code: "change-differs" | "change-missing"; readonly change: string };

/** What a walk along the chain came to. */
export interface ChainVerdict {
  readonly rows: number;
  /** 0 where there is no row. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Hash of the last row. */
  readonly head: string;
  /** Why there are no rows before the first one. */
  readonly leftOut?: JournalNote;
  readonly problem?: ChainProblem;
}

/** What a trail is held against. */
export interface ExpectedTrail {
  /** The chain must contain it; rows may follow. */
  readonly noted?: Head | undefined;
  /** The changes in force, where they are known; each must be as the chain says. */
  readonly changes?: Iterable<KeptChange> | undefined;
}

/** Walks along the rows from the first one kept. */
export function verifyChain(rows: Iterable<AuditRow>, { changes, noted }: ExpectedTrail = {}): ChainVerdict {
  const walk = new Walk(noted);
  for (const row of rows) if (!walk.take(row)) return walk.verdict({ code: "broken", seq: row.seq });
  return walk.verdict(walk.startProblem() ?? walk.headProblem() ?? (changes && walk.changeProblem(changes)));
}

class Walk {
  readonly #noted: Head | undefined;
  readonly #changes = new Map<string, Partial<ChangeRow>>();
  #rows = 0;
  #first: AuditRow | undefined;
  #last: AuditRow | undefined;
  #note: JournalNote | undefined;
  #isNotedThere = false;

  constructor(noted: Head | undefined) {
    this.#noted = noted;
  }

  /** @returns false where the row does not follow from the one before it */
  take(taken: AuditRow): boolean {
    const { hash, row, seq } = taken;
    const last = this.#last;
    if (last !== undefined && (seq !== last.seq + 1 || chained(last.hash, row) !== hash)) return false;
    if (seq === 1 && chained(FIRST_HASH, row) !== hash) return false;
    this.#rows += 1;
    this.#first ??= taken;
    this.#last = taken;
    if (seq === this.#noted?.seq) this.#isNotedThere = hash === this.#noted.hash;
    this.#read(row);
    return true;
  }

  #read(row: string): void {
    // Almost every row is of a decision, and need not be parsed.
    if (!row.startsWith('{"kind":"journal"') && !row.includes('"changeHash"')) return;
    const said = jsonOf(row);
    const note = JournalNote.safeParse(said).data;
    if (note !== undefined) {
      this.#note = note;
      for (const [id, changeHash] of Object.entries(note.changes ?? {}))
        this.#changes.set(id, { changeHash });
    }
    const change = ChangeRow.safeParse(said).data;
    if (change !== undefined) this.#changes.set(change.change, change);
  }

  /** Rows are missing before the first one, and no row says why; or the first does not follow from them. */
  startProblem(): ChainProblem | undefined {
    const [first, note] = [this.#first, this.#note];
    if (first === undefined || first.seq === 1) return undefined;
    if (note?.untilSeq !== first.seq - 1) return { code: "rows-missing", seq: first.seq };
    return chained(note.hash, first.row) === first.hash ? undefined : { code: "broken", seq: first.seq };
  }

  headProblem(): ChainProblem | undefined {
    const [noted, note] = [this.#noted, this.#note];
    if (noted === undefined || this.#isNotedThere) return undefined;
    if (noted.seq === note?.untilSeq && noted.hash === note.hash) return undefined;
    const isLeftOut = note !== undefined && noted.seq < note.untilSeq;
    return { code: isLeftOut ? "head-left-out" : "head-missing", seq: noted.seq };
  }

  changeProblem(changes: Iterable<KeptChange>): ChainProblem | undefined {
    const kept = new Set<string>();
    for (const { change, id } of changes) {
      if (this.#changes.get(id)?.changeHash !== sha256(change)) return { code: "change-differs", change: id };
      kept.add(id);
    }
    const newestMs = Number((jsonOf(this.#last?.row ?? "") as { atMs?: number } | undefined)?.atMs);
    for (const [id, row] of this.#changes) {
      if (!kept.has(id) && isStillKept(row, newestMs)) return { code: "change-missing", change: id };
    }
    return undefined;
  }

  verdict(problem: ChainProblem | undefined): ChainVerdict {
    return {
      rows: this.#rows,
      firstSeq: this.#first?.seq ?? 0,
      lastSeq: this.#last?.seq ?? 0,
      head: this.#last?.hash ?? FIRST_HASH,
      ...(this.#note && this.#note.untilSeq > 0 && { leftOut: this.#note }),
      ...(problem && { problem }),
    };
  }
}

/**
 * Whether the journal cannot have left it out yet, see journal.ts: a learned calendar is kept while it is approved, and 31 days from its
 * proposal, of which it waits 7; a change of a size 3 days, of which it is open for less than 2.
 */
function isStillKept({ atMs, kind, state }: Partial<ChangeRow>, newestMs: number): boolean {
  if (atMs === undefined || (state !== "approved" && state !== "awaiting")) return false;
  if (kind === "calendar") return state === "approved" || newestMs - atMs < 23 * DAY_MS;
  return newestMs - atMs < DAY_MS;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
