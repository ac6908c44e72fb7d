import { z } from "zod";
import { issuesInWords, TradewindError } from "./errors.ts";

/**
 * Parses a value from outside with a schema.
 * @throws TradewindError `invalid-input` that names `what` and every offending path
 */
export function parseWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  return dataOf(safely(schema, value), what);
}

/** As `safeParse`, also of a value with more problems than fit on the stack, some 100,000. */
export function safely<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  try {
    return schema.safeParse(value);
  } catch (problem) {
    if (!(problem instanceof RangeError)) throw problem;
    const message = "has more problems than can be listed";
    const error = new z.ZodError([{ code: "custom", path: [], message, input: undefined }]);
    return { success: false, error: error as z.ZodError<z.output<Schema>> };
  }
}

/**
 * Parses what another release may have written: fields that the schema does not know are left out, everything else must fit.
 * Schemas stay strict, so that what we write ourselves is checked against them to the last field.
 */
export function safeRead<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  let parsed = safely(schema, value);
  let known = value;
  // Further unknown fields show only once those above them are gone, in few schemas and never deeper than this.
  for (let round = 0; round < MAX_ROUNDS && !parsed.success; round += 1) {
    const unknown = parsed.error.issues.filter((issue) => issue.code === "unrecognized_keys");
    if (unknown.length === 0) break;
    if (round === 0) known = structuredClone(value);
    for (const { keys, path } of unknown) removeKeys(known, path, keys);
    parsed = safely(schema, known);
  }
  return parsed;
}

/** As {@link safeRead}. @throws TradewindError `invalid-input` that names `what` and every offending path */
export function readWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  return dataOf(safeRead(schema, value), what);
}

const MAX_ROUNDS = 4;

function removeKeys(root: unknown, path: readonly PropertyKey[], keys: readonly string[]): void {
  let at: unknown = root;
  for (const part of path) at = (at as Record<PropertyKey, unknown> | undefined)?.[part];
  for (const key of keys) delete (at as Record<string, unknown>)[key];
}

function dataOf<Data>(parsed: z.ZodSafeParseResult<Data>, what: string): Data {
  if (parsed.success) return parsed.data;
  throw new TradewindError("invalid-input", `${what} is not valid: ${issuesInWords(parsed.error.issues)}`, {
    cause: parsed.error,
  });
}

/** Parses JSON text and then the value, see {@link parseWith}. */
export function parseJsonWith<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  what: string,
): z.output<Schema> {
  return parseWith(schema, fromJson(text, what), what);
}

/** Parses JSON text and then the value, see {@link readWith}. */
export function readJsonWith<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  what: string,
): z.output<Schema> {
  return readWith(schema, fromJson(text, what), what);
}

function fromJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TradewindError("invalid-json", `${what} is not JSON`, { cause: error });
  }
}
