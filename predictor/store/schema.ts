import type { DatabaseSync } from "node:sqlite";
import { TradewindError } from "@tradewind/core/values/errors.ts";

/**
 * One entry per version, applied in order; an entry never changes once released. Bodies are packed JSON (packing.ts)
 * with their own checksum, so that a changed bit is found and costs one row. Nothing is written to `models` and `model_errors`.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE services (id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, service TEXT NOT NULL,
    UNIQUE (namespace, service)) STRICT;
  CREATE TABLE windows (resolution INTEGER NOT NULL, start_ms INTEGER NOT NULL, service_id INTEGER NOT NULL,
    origin TEXT NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (resolution, start_ms, service_id)) STRICT, WITHOUT ROWID;
  CREATE INDEX windows_of_service ON windows (service_id, resolution, start_ms);
  CREATE TABLE flows (resolution INTEGER NOT NULL, start_ms INTEGER NOT NULL, flow TEXT NOT NULL,
    body BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (resolution, start_ms, flow)) STRICT, WITHOUT ROWID;
  CREATE TABLE decisions (decided_at_ms INTEGER NOT NULL, id TEXT NOT NULL, service TEXT NOT NULL,
    body BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (decided_at_ms, id)) STRICT, WITHOUT ROWID;
  CREATE TABLE models (name TEXT NOT NULL, created_at_ms INTEGER NOT NULL, hash TEXT NOT NULL,
    metadata TEXT NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (name, created_at_ms)) STRICT;
  CREATE TABLE model_errors (name TEXT NOT NULL, at_ms INTEGER NOT NULL, hash TEXT NOT NULL, measure TEXT NOT NULL,
    value REAL NOT NULL, PRIMARY KEY (name, at_ms, measure)) STRICT, WITHOUT ROWID;
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE done_chunks (job TEXT NOT NULL, start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL,
    PRIMARY KEY (job, start_ms)) STRICT, WITHOUT ROWID;
  `,
];

export const SCHEMA_VERSION = MIGRATIONS.length;
/** "TWND", so that `file` and we tell our files from others'. */
const APPLICATION_ID = 0x54_57_4e_44;

/**
 * Brings a database to the current schema, each step in its own transaction.
 * @throws TradewindError `newer-store` when a newer version wrote it, `foreign-store` when it is not ours
 */
export function migrate(database: DatabaseSync): void {
  const version = pragma(database, "user_version");
  const application = pragma(database, "application_id");
  if (version > SCHEMA_VERSION) {
    throw new TradewindError(
      "newer-store",
      `the store has schema ${version}, this version knows up to ${SCHEMA_VERSION}; run the newer version, or another --state directory`,
    );
  }
  if (version > 0 && application !== APPLICATION_ID) {
    throw new TradewindError("foreign-store", "the file is a database of another program");
  }
  for (let next = version; next < SCHEMA_VERSION; next += 1) {
    database.exec("BEGIN IMMEDIATE");
    try {
      database.exec(MIGRATIONS[next] ?? "");
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${next + 1}; COMMIT`);
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0] ?? 0);
}
