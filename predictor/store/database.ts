import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { asidePath, DIRECTORY_MODE, FILE_MODE } from "@tradewind/core/process/state-file.ts";
import { migrate } from "./schema.ts";
import { Tables } from "./tables.ts";

/** Up to this size a file is checked whenever it is opened; a larger one only after a crash. */
const ALWAYS_CHECK_BYTES = 256 * 1_048_576;

export interface OpenOptions {
  /** Bounds the file, in pages of 4 KiB: stands in for a full disk. */
  readonly maxPages?: number | undefined;
}

/**
 * Opens the store's file, creates or upgrades it, and checks that it is sound.
 * @throws SQLite's errors; TradewindError `corrupt-store`, `newer-store` or `foreign-store`
 */
export function openStoreFile(path: string, options: OpenOptions = {}): Tables {
  const bytes = existsSync(path) ? statSync(path).size : 0;
  makePrivate(path);
  const database = new DatabaseSync(path, { timeout: 2_000 });
  try {
    database.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    database.exec(
      "PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16000",
    );
    if (options.maxPages !== undefined) database.exec(`PRAGMA max_page_count = ${options.maxPages}`);
    migrate(database);
    const tables = new Tables(database);
    if (bytes > 0 && (bytes <= ALWAYS_CHECK_BYTES || tables.meta("open") === "1")) quickCheck(database);
    return tables;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The file in its directory, for the own user alone. SQLite gives its log and index (`-wal`, `-shm`) the mode of the file. */
export function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  closeSync(openSync(path, "a", FILE_MODE));
  for (const each of [path, `${path}-wal`, `${path}-shm`]) {
    // A file of another user that its group may write, as a volume from an earlier release has them, stays as it is.
    if (existsSync(each) && statSync(each).uid === process.getuid?.()) chmodSync(each, FILE_MODE);
  }
}

/** Tells one file from another of the same name; undefined while there is none. */
export function fileIdentity(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** Writes everything of an open database to a new file, without holding up anybody. @throws SQLite's errors; the file is then gone */
export async function copyTo(database: DatabaseSync, path: string): Promise<void> {
  try {
    makePrivate(path);
    await backup(database, path);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

const MOVED = `
  INSERT OR IGNORE INTO file.services (namespace, service) SELECT namespace, service FROM main.services;
  CREATE TEMP TABLE moved AS SELECT w.resolution, w.start_ms, f.id, w.origin, w.body, w.checksum FROM main.windows w
    JOIN main.services s ON s.id = w.service_id
    JOIN file.services f ON f.namespace = s.namespace AND f.service = s.service;
  INSERT OR REPLACE INTO file.windows SELECT * FROM moved WHERE origin = 'live';
  INSERT OR IGNORE INTO file.windows SELECT * FROM moved;
  INSERT OR REPLACE INTO file.flows SELECT * FROM main.flows;
  INSERT OR REPLACE INTO file.decisions SELECT * FROM main.decisions;
  INSERT OR REPLACE INTO file.done_chunks SELECT * FROM main.done_chunks;
`;

/** Writes all rows of a database in memory into the file of a store, whose own rows stay. @throws SQLite's errors; the file is then as it was */
export function moveRows(inMemory: DatabaseSync, path: string): void {
  inMemory.prepare("ATTACH ? AS file").run(path);
  try {
    inMemory.exec(`BEGIN; ${MOVED} COMMIT`);
  } finally {
    if (inMemory.isTransaction) inMemory.exec("ROLLBACK");
    inMemory.exec("DROP TABLE IF EXISTS temp.moved; DETACH file");
  }
}

/** A store that lives only as long as the process. */
export function openMemory(): Tables {
  const database = new DatabaseSync(":memory:");
  migrate(database);
  return new Tables(database);
}

/** For reading beside a running predictor. @throws TradewindError `no-store` when there is none */
export function openStoreForReading(path: string): Tables {
  if (!existsSync(path)) {
    throw new TradewindError(
      "no-store",
      `there is no history at ${path}; check --state, or let the predictor run first`,
    );
  }
  return new Tables(new DatabaseSync(path, { readOnly: true, timeout: 2_000 }));
}

function quickCheck(database: DatabaseSync): void {
  const [row] = database.prepare("PRAGMA quick_check(1)").all();
  const said = String(Object.values(row ?? {})[0] ?? "");
  if (said !== "ok") throw new TradewindError("corrupt-store", `the store is damaged: ${said.slice(0, 300)}`);
}

/**
 * Moves a damaged file out of the way, with its write-ahead log.
 * @returns where it is now
 */
export function setAside(path: string, nowMs: number): string {
  const aside = asidePath(path, nowMs);
  // The file itself last: a new one beside the log of another would be damaged by it.
  for (const suffix of ["-wal", "-shm", ""]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}
