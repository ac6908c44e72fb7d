import { isDeepStrictEqual } from "node:util";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { Broken } from "./target.ts";

/** The error that the docstring promises: a TradewindError with one of these codes. */
export const documented =
  (...codes: readonly string[]) =>
  (error: unknown): boolean =>
    error instanceof TradewindError && codes.includes(error.code);

/**
 * Runs `work`; errors that are not documented are findings.
 * @returns what it gave, or undefined after a documented error
 */
export function attempt<Result>(
  work: () => Result,
  isDocumented: (error: unknown) => boolean,
): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (isDocumented(error)) return undefined;
    throw unexpected(error);
  }
}

/** As {@link attempt}, for work that takes its time. */
export async function attemptAsync<Result>(
  work: () => Promise<Result>,
  isDocumented: (error: unknown) => boolean,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isDocumented(error)) return undefined;
    throw unexpected(error);
  }
}

export const never = (): boolean => false;

export function unexpected(error: unknown): Broken {
  if (error instanceof Broken) return error;
  const name = error instanceof Error ? error.constructor.name : typeof error;
  const code = error instanceof TradewindError ? ` ${error.code}` : "";
  return new Broken(`threw ${name}${code}`, `threw ${name}${code}: ${String(error).slice(0, 300)}`, {
    cause: error,
  });
}

export function expect(holds: boolean, kind: string, message: () => string): void {
  if (!holds) throw new Broken(kind, message());
}

/** Equal as JSON sees it: an absent key and an undefined one are the same. */
export function expectEqual(found: unknown, wanted: unknown, kind: string): void {
  if (isDeepStrictEqual(found, wanted)) return;
  throw new Broken(kind, `${brief(found)} is not ${brief(wanted)}`);
}

/** Every number in the value is finite and at least `least`; parts named in `free` are not looked at. */
export function expectNumbers(value: unknown, least = 0, free: ReadonlySet<string> = NONE): void {
  const wrong = wrongNumber(value, least, free, "$");
  if (wrong !== undefined) throw new Broken("number", wrong);
}
const NONE: ReadonlySet<string> = new Set();

function wrongNumber(
  value: unknown,
  least: number,
  free: ReadonlySet<string>,
  path: string,
): string | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value) && value >= least ? undefined : `${path} is ${value}`;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const parts = value instanceof Map ? value.entries() : Object.entries(value);
  for (const [key, part] of parts) {
    if (free.has(String(key))) continue;
    const wrong = wrongNumber(part, least, free, `${path}.${String(key)}`);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** No input may leave a mark on what all objects share. */
export function expectCleanPrototype(): void {
  const marks = Object.keys(Object.prototype);
  if (marks.length > 0) throw new Broken("prototype", `Object.prototype has ${marks.join()}`);
}

/** The value as JSON text; undefined for what has none, such as a value nested so deep that writing it fails. */
export function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

export function brief(value: unknown): string {
  const text = jsonText(value) ?? typeof value;
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
