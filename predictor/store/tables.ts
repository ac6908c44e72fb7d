import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { safeRead } from "@tradewind/core/values/config.ts";
import { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import type { z } from "zod";
import { pack, unpack } from "./packing.ts";
import { ServiceIds } from "./service-ids.ts";
import type { DecisionQuery, DoneChunk, StoredFlow, WindowOrigin, WindowQuery } from "./window-store.ts";

type Row = Record<string, unknown>;

/** Rows of the store, typed, over one open database. Everything here is synchronous and may throw SQLite's errors. */
export class Tables {
  readonly database: DatabaseSync;
  /** Rows that did not match their checksum or schema. */
  unreadable = 0;
  private readonly statements = new Map<string, StatementSync>();
  readonly services = new ServiceIds(this);

  constructor(database: DatabaseSync) {
    this.database = database;
  }

  /** Runs `work` as one transaction: all of it is stored, or nothing. */
  transaction(work: () => void): void {
    this.database.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.database.exec("COMMIT");
    } catch (error) {
      this.services.clear();
      if (this.database.isTransaction) this.database.exec("ROLLBACK");
      throw error;
    }
  }

  /** A live window replaces what is there; one from history fills a gap only. */
  putWindow(window: Window, origin: WindowOrigin): void {
    const { body, checksum } = pack(window);
    const verb = origin === "live" ? "INSERT OR REPLACE" : "INSERT OR IGNORE";
    this.run(
      `${verb} INTO windows (resolution, start_ms, service_id, origin, body, checksum) VALUES (?, ?, ?, ?, ?, ?)`,
      resolutionSeconds(window),
      window.startMs,
      this.services.idOf(window.namespace, window.service),
      origin,
      body,
      checksum,
    );
  }

  putFlow(flow: FlowWindow, startMs: number, endMs: number): void {
    const { body, checksum } = pack(flow);
    this.run(
      "INSERT OR REPLACE INTO flows (resolution, start_ms, flow, body, checksum) VALUES (?, ?, ?, ?, ?)",
      resolutionSeconds({ startMs, endMs }),
      startMs,
      flowKey(flow),
      body,
      checksum,
    );
  }

  putDecision(record: ProposedChange): void {
    const { body, checksum } = pack(record);
    this.run(
      "INSERT OR REPLACE INTO decisions (decided_at_ms, id, service, body, checksum) VALUES (?, ?, ?, ?, ?)",
      record.decidedAtMs,
      record.id,
      record.service,
      body,
      checksum,
    );
  }

  putDoneChunk(job: string, { startMs, endMs }: DoneChunk): void {
    this.run(
      "INSERT OR REPLACE INTO done_chunks (job, start_ms, end_ms) VALUES (?, ?, ?)",
      job,
      startMs,
      endMs,
    );
  }

  setMeta(key: string, value: string): void {
    this.run("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", key, value);
  }

  meta(key: string): string | undefined {
    const value = this.all("SELECT value FROM meta WHERE key = ?", key)[0]?.["value"];
    return typeof value === "string" ? value : undefined;
  }

  /** Lengths of stored windows, finest first. */
  resolutions(table: "windows" | "flows"): number[] {
    const found: number[] = [];
    const next = `SELECT resolution FROM ${table} WHERE resolution > ? ORDER BY resolution LIMIT 1`;
    for (let last = -1; ;) {
      const [row] = this.all(next, last);
      if (row === undefined) return found;
      last = Number(row["resolution"]);
      found.push(last);
    }
  }

  /** Windows of one length by rising start. */
  *windows(resolution: number, query: WindowQuery): Generator<Window> {
    const { fromMs, toMs, service, namespace } = query;
    const columns = "SELECT w.body, w.checksum FROM windows w";
    const range = "w.resolution = ? AND w.start_ms >= ? AND w.start_ms < ? ORDER BY w.start_ms";
    if (service === undefined && namespace === undefined) {
      yield* this.readAll(Window, `${columns} WHERE ${range}`, resolution, fromMs, toMs);
      return;
    }
    const ids = this.all(
      "SELECT id FROM services WHERE (?1 IS NULL OR service = ?1) AND (?2 IS NULL OR namespace = ?2)",
      service ?? null,
      namespace ?? null,
    ).map((row) => Number(row["id"]));
    const [only] = ids;
    if (ids.length === 1 && only !== undefined) {
      yield* this.readAll(
        Window,
        `${columns} WHERE w.service_id = ? AND ${range}`,
        only,
        resolution,
        fromMs,
        toMs,
      );
    } else if (ids.length > 1) {
      const list = `w.service_id IN (SELECT value FROM json_each(?))`;
      yield* this.readAll(
        Window,
        `${columns} WHERE ${list} AND ${range}`,
        JSON.stringify(ids),
        resolution,
        fromMs,
        toMs,
      );
    }
  }

  *flows(resolution: number, fromMs: number, toMs: number): Generator<StoredFlow> {
    const rows = this.prepare(
      "SELECT start_ms, body, checksum FROM flows WHERE resolution = ? AND start_ms >= ? AND start_ms < ? ORDER BY start_ms",
    ).iterate(resolution, fromMs, toMs);
    for (const row of rows) {
      const flow = this.parse(FlowWindow, row);
      const startMs = Number(row["start_ms"]);
      if (flow !== undefined) yield { ...flow, startMs, endMs: startMs + resolution * 1_000 };
    }
  }

  /** Newest first. */
  decisions({ fromMs, most, service, toMs }: DecisionQuery): Generator<ProposedChange> {
    return this.readAll(
      ProposedChange,
      "SELECT body, checksum FROM decisions WHERE (?1 IS NULL OR service = ?1) AND decided_at_ms >= ?2 AND decided_at_ms < ?3 ORDER BY decided_at_ms DESC, id DESC LIMIT ?4",
      service ?? null,
      fromMs ?? Number.MIN_SAFE_INTEGER,
      toMs ?? Number.MAX_SAFE_INTEGER,
      most,
    );
  }

  doneChunks(job: string): DoneChunk[] {
    return this.all("SELECT start_ms, end_ms FROM done_chunks WHERE job = ? ORDER BY start_ms", job).map(
      (row) => ({
        startMs: Number(row["start_ms"]),
        endMs: Number(row["end_ms"]),
      }),
    );
  }

  /** Numbers of the steps of time in which there are live windows. */
  liveSteps(fromMs: number, toMs: number, stepMs: number): number[] {
    return this.resolutions("windows").flatMap((resolution) =>
      this.all(
        "SELECT DISTINCT CAST(start_ms / ?1 AS INTEGER) AS step FROM windows WHERE resolution = ?2 AND start_ms >= ?3 AND start_ms < ?4 AND origin = 'live'",
        stepMs,
        resolution,
        fromMs,
        toMs,
      ).map((row) => Number(row["step"])),
    );
  }

  /** Bytes in use, free pages not counted. */
  usedBytes(): number {
    const one = (name: string): number => Number(Object.values(this.all(`PRAGMA ${name}`)[0] ?? {})[0] ?? 0);
    return (one("page_count") - one("freelist_count")) * one("page_size");
  }

  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return Number(this.prepare(sql).run(...values).changes);
  }

  all(sql: string, ...values: readonly SQLInputValue[]): Row[] {
    return this.prepare(sql).all(...values);
  }

  private *readAll<Schema extends z.ZodType>(
    schema: Schema,
    sql: string,
    ...values: readonly SQLInputValue[]
  ): Generator<z.output<Schema>> {
    for (const row of this.prepare(sql).iterate(...values)) {
      const value = this.parse(schema, row);
      if (value !== undefined) yield value;
    }
  }

  private parse<Schema extends z.ZodType>(schema: Schema, row: Row): z.output<Schema> | undefined {
    const parsed = safeRead(schema, unpack(row["body"], row["checksum"]));
    if (parsed.success) return parsed.data;
    this.unreadable += 1;
    return undefined;
  }

  /** An iterating statement cannot be used twice at once, so a busy one is prepared anew. */
  private prepare(sql: string): StatementSync {
    if (sql.startsWith("SELECT") && sql.includes("body")) return this.database.prepare(sql);
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

/**
 * A flow is an operation of the service by which it enters; others may have one of that name. Rows may also have the name alone
 * as their key: what a flow is called is read from its body.
 */
export function flowKey({ entryService, flow }: FlowWindow): string {
  return `${entryService}\n${flow}`;
}

export function resolutionSeconds({ startMs, endMs }: { startMs: number; endMs: number }): number {
  return Math.max(1, Math.round((endMs - startMs) / 1_000));
}
