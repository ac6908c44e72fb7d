import { inspect } from "node:util";

/**
 * An error a person can act on: what happened, to what, and what to do.
 * `code` is stable and machine readable (`kebab-case`); `cause` holds the error underneath.
 */
export class TradewindError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "TradewindError";
    this.code = code;
  }
}

/** Zod writes its issues as JSON over many lines; whoever wrapped the error has said them in words. */
const isSaidInWords = (error: unknown): boolean =>
  error instanceof Error && (error.name === "ZodError" || error.name === "$ZodError");

/** The messages of an error and of its causes, outermost first, on one line. */
export function describeError(error: unknown): string {
  const messages: string[] = [];
  let current = error;
  for (let depth = 0; depth < 8 && current !== undefined && current !== null; depth += 1) {
    if (current instanceof Error) messages.push(current.message);
    else messages.push(typeof current === "string" ? current : inspect(current));
    const cause: unknown = current instanceof Error ? current.cause : undefined;
    current = current instanceof TradewindError && isSaidInWords(cause) ? undefined : cause;
  }
  return messages.filter((message) => message !== "").join(": ") || "unknown error";
}
