import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
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

/** At the end of the name of a file that was set aside, until everything readable of it has been taken over. */
export const SALVAGING = ".salvaging";

/**
 * Moves a damaged file out of the way, with its write-ahead log. Its name says that it has still to be taken over, so a process
 * killed meanwhile loses nothing: the next one finds it.
 * @returns where it is now
 */
export function setAside(path: string, nowMs: number): string {
  const aside = `${asidePath(path, nowMs)}${SALVAGING}`;
  move(path, aside);
  return aside;
}

/** A file that was set aside has been taken over, and its name says so no more. */
export function keepAside(aside: string): void {
  move(aside, aside.slice(0, -SALVAGING.length));
}

/** Files of `path` that were set aside and are not yet taken over, oldest first. */
export function filesToSalvage(path: string): string[] {
  return asideNames(path)
    .filter((name) => name.endsWith(SALVAGING))
    .sort()
    .map((name) => join(dirname(path), name));
}

/** Completes {@link setAside} where the process was killed between its moves. */
export function completeSetAside(path: string): void {
  for (const name of asideNames(path)) {
    if (!name.endsWith(`${SALVAGING}-wal`)) continue;
    const aside = join(dirname(path), name.slice(0, -"-wal".length));
    if (!existsSync(aside) && existsSync(path)) move(path, aside);
  }
}

function asideNames(path: string): string[] {
  const directory = dirname(path);
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => name.startsWith(`${basename(path)}.corrupt-`));
}

/** The file itself last: what says whether it was moved moves with it. */
function move(from: string, to: string): void {
  for (const suffix of ["-wal", "-shm", ""]) {
    if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix);
  }
}
