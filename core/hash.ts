import { createHash } from "node:crypto";

/** JSON with sorted keys and absent `undefined`: equal values give equal text. Non-finite numbers are refused. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === "number" && !Number.isFinite(part)) {
      throw new RangeError(`${part} has no canonical JSON form`);
    }
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    const entries = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return Object.fromEntries(entries);
  });
}

/** First 16 hex digits of the SHA-256 of the canonical JSON: names an input in a decision record. */
export function contentHash(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 16);
}
