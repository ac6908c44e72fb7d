import type { z } from "zod";
import { TradewindError } from "./errors.ts";

/**
 * Parses a value from outside with a schema.
 * @throws TradewindError `invalid-input` that names `what` and every offending path
 */
export function parseWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.length === 0 ? "(root)" : path.map(String).join(".")}: ${message}`);
  const more = parsed.error.issues.length - problems.length;
  throw new TradewindError(
    "invalid-input",
    `${what} is not valid: ${problems.join("; ")}${more > 0 ? `; and ${more} more` : ""}`,
    { cause: parsed.error },
  );
}

/** Parses JSON text and then the value, see {@link parseWith}. */
export function parseJsonWith<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  what: string,
): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new TradewindError("invalid-json", `${what} is not JSON`, { cause: error });
  }
  return parseWith(schema, value, what);
}
