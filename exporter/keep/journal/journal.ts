import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { z } from "zod";
import { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { AuditRow } from "@tradewind/core/contract/audit.ts";
import { Change } from "@tradewind/core/contract/change.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { KeptChange } from "./chain.ts";
import { JOURNAL_FILE, JournalWriter, unusable } from "./journal-writer.ts";

/** What was read, and how many rows of it could not be. */
export interface Readable<Thing> {
  readonly things: readonly Thing[];
  readonly unreadable: number;
}

/** A journal that is read as well. */
export class Journal extends JournalWriter {
  /** Changes as they were written last. */
  changes(): Readable<Change> {
    const rows = this.database.prepare("SELECT change AS text FROM changes ORDER BY at_ms").all();
    return readable(rows as { text: string }[], Change);
  }

  /** The newest events, oldest first. */
  newest(most: number): Readable<AuditEvent> {
    const rows = this.database
      .prepare("SELECT row AS text FROM audit WHERE row NOT LIKE ? ORDER BY seq DESC LIMIT ?")
      .all(NOTES, most);
    return readable(rows.toReversed() as { text: string }[], AuditEvent);
  }
}

/** Rows in which the journal speaks of itself. */
const NOTES = '{"kind":"journal"%';

/** One that cannot be read is left where it is, and the others are read all the same. */
function readable<Thing>(rows: readonly { text: string }[], schema: z.ZodType<Thing>): Readable<Thing> {
  const things = rows.flatMap(({ text }) => {
    try {
      return schema.parse(JSON.parse(text));
    } catch {
      return [];
    }
  });
  return { things, unreadable: rows.length - things.length };
}

/** The audit trail of an exporter that may be running. */
export interface AuditTrail extends Disposable {
  rows(): Iterable<AuditRow>;
  changes(): Iterable<KeptChange>;
}

/** @throws TradewindError `no-journal` where there is none, `journal-unusable` */
export function openTrail(directory: string): AuditTrail {
  // The second is what `tradewind local` keeps, of all of its processes.
  const places = [directory, join(directory, "exporter")].map((each) => join(each, JOURNAL_FILE));
  const path = places.find((each) => existsSync(each));
  if (path === undefined) {
    throw new TradewindError(
      "no-journal",
      `there is no ${JOURNAL_FILE} in ${directory}; give --state the scaler's state directory`,
    );
  }
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
    // Rows and changes of one moment, while the scaler writes.
    database.exec("BEGIN");
    const all = (sql: string) => database.prepare(sql).iterate() as Iterable<unknown>;
    return {
      rows: () => all("SELECT seq, row, hash FROM audit ORDER BY seq") as Iterable<AuditRow>,
      changes: () => all("SELECT id, change FROM changes") as Iterable<KeptChange>,
      [Symbol.dispose]: () => database.close(),
    };
  } catch (error) {
    throw unusable(directory, error);
  }
}
