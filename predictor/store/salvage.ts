import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue } from "node:sqlite";
import { safeRead } from "@tradewind/core/values/config.ts";
import { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { z } from "zod";
import { storeFailure } from "./failure.ts";
import { unpack } from "./packing.ts";
import { readModel } from "./tables.ts";
import type { Tables } from "./tables.ts";

type Row = Record<string, SQLInputValue>;

interface Salvaged {
  readonly table: string;
  /** Columns of the primary key, outermost first; the second is a time in ms. */
  readonly key: readonly string[];
  /** Puts a row into the new store; false when the row itself is damaged. */
  readonly put: (row: Row, into: Tables) => boolean;
}

const DoneChunkRow = z.object({ job: z.string(), start_ms: z.number(), end_ms: z.number() });

/** Small ones first: who starts meanwhile finds its models, and what has been read of a server's past. */
const TABLES: readonly Salvaged[] = [
  {
    table: "models",
    key: ["name", "created_at_ms"],
    put: (row, into) => {
      const model = readModel(row);
      if (model !== undefined) into.putModel(model);
      return model !== undefined;
    },
  },
  {
    table: "done_chunks",
    key: ["job", "start_ms"],
    put: (row, into) => {
      const chunk = DoneChunkRow.safeParse(row);
      if (chunk.success) {
        into.putDoneChunk(chunk.data.job, { startMs: chunk.data.start_ms, endMs: chunk.data.end_ms });
      }
      return chunk.success;
    },
  },
  {
    table: "decisions",
    key: ["decided_at_ms", "id"],
    put: (row, into) => {
      const record = safeRead(ProposedChange, unpack(row["body"], row["checksum"]));
      if (record.success) into.putDecision(record.data);
      return record.success;
    },
  },
  {
    table: "windows",
    key: ["resolution", "start_ms", "service_id"],
    put: (row, into) => {
      const window = safeRead(Window, unpack(row["body"], row["checksum"]));
      if (window.success) into.putWindow(window.data, row["origin"] === "live" ? "live" : "backfill");
      return window.success;
    },
  },
  {
    table: "flows",
    key: ["resolution", "start_ms", "flow"],
    put: (row, into) => {
      const flow = safeRead(FlowWindow, unpack(row["body"], row["checksum"]));
      const startMs = Number(row["start_ms"]);
      if (flow.success) into.putFlow(flow.data, startMs, startMs + Number(row["resolution"]) * 1_000);
      return flow.success;
    },
  },
];

/** Rows that are read and written in one step. Chosen: at most some 200 ms, as a row takes up to 1 ms (on a busy machine). */
const PAGE_ROWS = 200;
const MAX_FAILURES = 200;

export interface SalvageResult {
  readonly rows: number;
  /** Rows that could be read but were damaged, and stretches that could not be read at all. */
  readonly damaged: number;
}

/** A salvage, a page of rows a step. A step gives undefined, or why its page could not be written: the next step tries it again. */
export type SalvageSteps = Generator<unknown, SalvageResult, void>;

/** Copies every row that can still be read from a damaged (or another sound) store into a new one. */
export function* salvage(from: DatabaseSync, into: Tables): SalvageSteps {
  let rows = 0;
  let damaged = 0;
  for (const each of TABLES) {
    const found = yield* new TableSalvage(from, into, each).run();
    rows += found.rows;
    damaged += found.damaged;
  }
  return { rows, damaged };
}

/** As {@link salvage}, from a file. Nothing can be read from one that is not a database at all. */
export function* salvageFile(path: string, into: Tables): SalvageSteps {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true, defensive: false });
    // Without it SQLite refuses every page of a file that is shorter than its header says.
    database.exec("PRAGMA writable_schema = ON");
  } catch {
    database?.close();
    return { rows: 0, damaged: 1 };
  }
  try {
    return yield* salvage(database, into);
  } finally {
    database.close();
  }
}

/** Does a piece of work; each step gives why it failed, and the next one tries it again. */
export function* untilDone(work: () => void): Generator<unknown, void, void> {
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      yield error;
    }
  }
}

/** Values of a primary key's columns. */
type Key = readonly SQLInputValue[];

/** Keys between these two, both included, have been read. */
interface Stretch {
  readonly from: Key;
  readonly to: Key;
}

/**
 * Walks a table's key upwards, page by page; where a page cannot be read, once more from the other end, and then from
 * every hour in between. What no walk reaches is lost.
 */
class TableSalvage {
  private readonly from: DatabaseSync;
  private readonly into: Tables;
  private readonly salvaged: Salvaged;
  /** Stretches and not keys, which would take more memory than there is for a history of gigabytes. */
  private readonly seen: Stretch[] = [];
  private rows = 0;
  private damaged = 0;

  constructor(from: DatabaseSync, into: Tables, salvaged: Salvaged) {
    this.from = from;
    this.into = into;
    this.salvaged = salvaged;
  }

  *run(): SalvageSteps {
    if (!(yield* this.walk("up", []))) {
      this.damaged += 1;
      yield* this.walk("down", []);
      yield* this.walkBetween();
    }
    return { rows: this.rows, damaged: this.damaged };
  }

  /** @returns whether it came to the end of the table, or to where another walk had been */
  private *walk(direction: "up" | "down", start: Key): Generator<unknown, boolean, void> {
    const { table, key } = this.salvaged;
    const order = key.map((column) => `${column} ${direction === "up" ? "ASC" : "DESC"}`).join(", ");
    const beyond = `(${key.join(", ")}) ${direction === "up" ? ">" : "<"} (${key.map(() => "?").join(", ")})`;
    const slot = this.seen.length;
    let first: Key | undefined;
    for (let at = start; ;) {
      const where = at.length === 0 ? "" : `WHERE ${beyond}`;
      let page: Row[];
      try {
        page = readPage(
          this.from,
          `SELECT * FROM ${table} ${where} ORDER BY ${order} LIMIT ${PAGE_ROWS}`,
          at,
        );
      } catch {
        return false;
      }
      const last = page.at(-1);
      if (last === undefined) return true;
      const fresh = page.filter((row) => !this.isSeen(this.keyOf(row)));
      yield* this.keep(fresh);
      if (fresh.length === 0 && page.length > 1) return true;
      const to = this.keyOf(last);
      // Where keys do not rise, a page is damaged that SQLite took for sound.
      if (at.length > 0 && compareKeys(to, at) > 0 !== (direction === "up")) return false;
      first ??= this.keyOf(page[0] ?? last);
      this.seen[slot] = direction === "up" ? { from: first, to } : { from: to, to: first };
      at = to;
    }
  }

  private keyOf(row: Row): Key {
    return this.salvaged.key.map((column) => row[column] ?? null);
  }

  private isSeen(key: Key): boolean {
    return this.seen.some(({ from, to }) => compareKeys(from, key) <= 0 && compareKeys(key, to) <= 0);
  }

  /** Writes rows, one step for each try. */
  private *keep(page: readonly Row[]): Generator<unknown, void, void> {
    let rows = 0;
    yield* untilDone(() => {
      rows = 0;
      this.into.transaction(() => {
        for (const row of page) if (this.put(row)) rows += 1;
      });
    });
    this.rows += rows;
    this.damaged += page.length - rows;
    yield undefined;
  }

  /** @returns false when the row is damaged */
  private put(row: Row): boolean {
    try {
      return this.salvaged.put(row, this.into);
    } catch (error) {
      // Where SQLite was not even asked, the row holds what cannot be stored.
      const isOfRow = !(error instanceof Error && "errcode" in error) || storeFailure(error) === "row";
      if (isOfRow) return false;
      throw error;
    }
  }

  private *walkBetween(): Generator<unknown, void, void> {
    const { table, key } = this.salvaged;
    if (key[0] !== "resolution") return;
    let failures = 0;
    for (const [resolution, startMs] of hoursBetween(this.seen)) {
      if (!(yield* this.walk("up", [resolution, startMs, table === "flows" ? "" : -1]))) failures += 1;
      if (failures > MAX_FAILURES) return;
    }
  }
}

const bytesOf = (value: SQLInputValue): Buffer => Buffer.from(typeof value === "string" ? value : "");

/** As SQLite sorts keys of one table: numbers by size, text by its bytes. */
function compareKeys(a: Key, b: Key): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? null;
    const order =
      typeof left === "number" && typeof right === "number"
        ? left - right
        : Buffer.compare(bytesOf(left), bytesOf(right));
    if (order !== 0) return order;
  }
  return 0;
}

/** Rows up to the first that cannot be read: a page of rows is not lost for one bad row at its end. */
function readPage(from: DatabaseSync, sql: string, values: readonly SQLInputValue[]): Row[] {
  const rows: Row[] = [];
  try {
    for (const row of from.prepare(sql).iterate(...values)) rows.push(row);
  } catch (error) {
    if (rows.length === 0) throw error;
  }
  return rows;
}

const HOUR_MS = 3_600_000;
const MAX_STARTS = 5_000;

/** Hours inside the gaps of more than an hour between what was read, of every resolution. */
function hoursBetween(seen: readonly Stretch[]): [number, number][] {
  const sorted = [...seen].sort((a, b) => compareKeys(a.from, b.from));
  const starts: [number, number][] = [];
  for (const [index, { from }] of sorted.entries()) {
    const before = sorted[index - 1]?.to;
    if (before === undefined || before[0] !== from[0]) continue;
    const to = Number(from[1]);
    for (let at = Number(before[1]) + HOUR_MS; at < to && starts.length < MAX_STARTS; at += HOUR_MS) {
      starts.push([Number(from[0]), at]);
    }
  }
  return starts;
}
