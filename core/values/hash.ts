import { hash } from "node:crypto";

/** JSON with sorted keys and absent `undefined`: equal values give equal text. Non-finite numbers are refused. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

/** The value with the keys of its objects in order. A replacer of `JSON.stringify` would be called for each number of a list. */
function sorted(part: unknown): unknown {
  if (typeof part === "number" && !Number.isFinite(part)) {
    throw new RangeError(`${part} has no canonical JSON form`);
  }
  if (part === null || typeof part !== "object") return part;
  if (Array.isArray(part)) return part.map(sorted);
  const { toJSON } = part as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") return sorted(Reflect.apply(toJSON as () => unknown, part, []));
  const keys = Object.keys(part).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted((part as Record<string, unknown>)[key])]));
}

/** First 16 hex digits of the SHA-256 of the canonical JSON: names an input in a decision record. */
export function contentHash(value: unknown): string {
  return hash("sha256", canonicalJson(value), "hex").slice(0, 16);
}
