import { createHash } from "node:crypto";

/** What stands in the place of the hash before the first row. */
export const FIRST_HASH = "0".repeat(64);

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** SHA-256 of the hash before and the row. */
export const chained = (before: string, row: string): string => sha256(before + row);
