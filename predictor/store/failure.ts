/** What a failed write means; `row`: the file is sound, and the row itself cannot be stored. */
export type StoreFailure = "full" | "corrupt" | "busy" | "row" | "other";

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_TOOBIG = 18;
const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;
const SQLITE_NOTADB = 26;

/** Sorts an error of node:sqlite by its result code (sqlite.org/rescode.html); the low byte is the primary code. */
export function storeFailure(error: unknown): StoreFailure {
  const code = (error as { errcode?: unknown } | undefined)?.errcode;
  const primary = typeof code === "number" ? code & 0xff : -1;
  if (primary === SQLITE_FULL) return "full";
  if (primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB) return "corrupt";
  if (primary === SQLITE_BUSY || primary === SQLITE_LOCKED) return "busy";
  if (primary === SQLITE_TOOBIG || primary === SQLITE_CONSTRAINT || primary === SQLITE_MISMATCH) return "row";
  const message = error instanceof Error ? error.message : "";
  return /ENOSPC|disk is full/i.test(message) ? "full" : "other";
}
