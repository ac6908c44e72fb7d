/** What a failed write means. */
export type StoreFailure = "full" | "corrupt" | "busy" | "other";

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

/** Sorts an error of node:sqlite by its result code (sqlite.org/rescode.html); the low byte is the primary code. */
export function storeFailure(error: unknown): StoreFailure {
  const code = (error as { errcode?: unknown } | undefined)?.errcode;
  const primary = typeof code === "number" ? code & 0xff : -1;
  if (primary === SQLITE_FULL) return "full";
  if (primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB) return "corrupt";
  if (primary === SQLITE_BUSY || primary === SQLITE_LOCKED) return "busy";
  const message = error instanceof Error ? error.message : "";
  return /ENOSPC|disk is full/i.test(message) ? "full" : "other";
}
