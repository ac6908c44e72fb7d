import { DatabaseSync } from "node:sqlite";
import type { SQLInputValue } from "node:sqlite";
import { safeRead } from "@tradewind/core/config.ts";
import { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { z } from "zod";
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

const TABLES: readonly Salvaged[] = [
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
];

const PAGE_ROWS = 200;
const MAX_FAILURES = 200;

export interface SalvageResult {
  readonly rows: number;
  /** Rows that could be read but were damaged, and stretches that could not be read at all. */
  readonly damaged: number;
}

/** Copies every row that can still be read from a damaged (or another sound) store into a new one. */
export function salvage(from: DatabaseSync, into: Tables): SalvageResult {
  let rows = 0;
  let damaged = 0;
  for (const each of TABLES) {
    const found = new TableSalvage(from, into, each).run();
    rows += found.rows;
    damaged += found.damaged;
  }
  return { rows, damaged };
}

/** As {@link salvage}, from a file. Nothing can be read from one that is not a database at all. */
export function salvageFile(path: string, into: Tables): SalvageResult {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true, defensive: false });
    // Without it SQLite refuses every page of a file that is shorter than its header says.
    database.exec("PRAGMA writable_schema = ON");
    return salvage(database, into);
  } catch {
    return { rows: 0, damaged: 1 };
  } finally {
    database?.close();
  }
}

/**
 * Walks a table's key upwards, page by page; where a page cannot be read, once more from the other end, and then from
 * every hour in between. What no walk reaches is lost.
 */
class TableSalvage {
  private readonly from: DatabaseSync;
  private readonly into: Tables;
  private readonly salvaged: Salvaged;
  private readonly seen = new Set<string>();
  private rows = 0;
  private damaged = 0;

  constructor(from: DatabaseSync, into: Tables, salvaged: Salvaged) {
    this.from = from;
    this.into = into;
    this.salvaged = salvaged;
  }

  run(): SalvageResult {
    if (!this.walk("up", [])) {
      this.damaged += 1;
      this.walk("down", []);
      this.walkBetween();
    }
    return { rows: this.rows, damaged: this.damaged };
  }

  /** @returns whether it came to the end of the table, or to where another walk had been */
  private walk(direction: "up" | "down", start: readonly SQLInputValue[]): boolean {
    const { table, key } = this.salvaged;
    const order = key.map((column) => `${column} ${direction === "up" ? "ASC" : "DESC"}`).join(", ");
    const beyond = `(${key.join(", ")}) ${direction === "up" ? ">" : "<"} (${key.map(() => "?").join(", ")})`;
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
      const fresh = this.keep(page);
      const last = page.at(-1);
      if (last === undefined || (fresh === 0 && page.length > 1)) return true;
      at = key.map((column) => last[column] ?? null);
    }
  }

  /** @returns how many of the rows had not been seen before */
  private keep(page: readonly Row[]): number {
    const { key, put } = this.salvaged;
    const fresh = page.filter((row) => {
      const id = JSON.stringify(key.map((column) => row[column]));
      if (this.seen.has(id)) return false;
      this.seen.add(id);
      return true;
    });
    this.into.transaction(() => {
      for (const row of fresh) {
        if (put(row, this.into)) this.rows += 1;
        else this.damaged += 1;
      }
    });
    return fresh.length;
  }

  private walkBetween(): void {
    const { table, key } = this.salvaged;
    if (key[0] !== "resolution") return;
    let failures = 0;
    for (const [resolution, startMs] of hoursBetween(this.seen)) {
      if (!this.walk("up", [resolution, startMs, table === "flows" ? "" : -1])) failures += 1;
      if (failures > MAX_FAILURES) return;
    }
  }
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

/** Hours inside the gaps of more than an hour among the keys seen, of every resolution. */
function hoursBetween(seen: ReadonlySet<string>): [number, number][] {
  const byResolution = new Map<number, number[]>();
  for (const id of seen) {
    const [resolution, startMs] = JSON.parse(id) as [number, number];
    const times = byResolution.get(resolution) ?? [];
    times.push(startMs);
    byResolution.set(resolution, times);
  }
  const starts: [number, number][] = [];
  for (const [resolution, times] of byResolution) {
    times.sort((a, b) => a - b);
    for (let index = 1; index < times.length; index += 1) {
      const to = times[index] ?? 0;
      for (let at = (times[index - 1] ?? 0) + HOUR_MS; at < to && starts.length < MAX_STARTS; at += HOUR_MS) {
        starts.push([resolution, at]);
      }
    }
  }
  return starts;
}
