import { existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { TradewindError } from "@tradewind/core/errors.ts";
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
  mkdirSync(dirname(path), { recursive: true });
  const bytes = existsSync(path) ? statSync(path).size : 0;
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

/** Moves a damaged file out of the way, with its write-ahead log, and says where it is now. */
export function setAside(path: string, nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-");
  const aside = `${path}.corrupt-${stamp}`;
  renameSync(path, aside);
  for (const suffix of ["-wal", "-shm"]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}
