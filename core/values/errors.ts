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

/** One thing that a schema found wrong. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

const MAX_ISSUES = 5;
/** Of one issue: one that lists the unknown keys of an object may be as long as that. */
const MAX_ISSUE_CHARACTERS = 500;

const BOUND_WORDS = { ">=": "at least", ">": "more than", "<=": "at most", "<": "less than" } as const;

/** `Too small: expected number to be >=1` as `must be at least 1`; any other message as it is. */
const plain = (message: string): string =>
  message.replace(
    /^Too (?:small|big): expected (?:number|int) to be ([<>]=?)/,
    (_, bound: keyof typeof BOUND_WORDS) => `must be ${BOUND_WORDS[bound]} `,
  );

/** What a schema found wrong, on one line: `spec.replicas: Invalid input: expected number, received string`. */
export function issuesInWords(issues: readonly Issue[]): string {
  const said = issues
    .slice(0, MAX_ISSUES)
    .map(
      ({ message, path }) =>
        `${path.length === 0 ? "(root)" : path.map(String).join(".")}: ${plain(message)}`,
    )
    .map((text) => text.slice(0, MAX_ISSUE_CHARACTERS));
  const more = issues.length - said.length;
  return `${said.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

/** A schema's error, whose own message is JSON over many lines. */
const isSchemaError = (error: unknown): error is Error & { readonly issues: readonly Issue[] } =>
  error instanceof Error && (error.name === "ZodError" || error.name === "$ZodError") && "issues" in error;

/** The messages of an error and of its causes, outermost first, on one line. */
export function describeError(error: unknown): string {
  const messages: string[] = [];
  let current = error;
  for (let depth = 0; depth < 8 && current !== undefined && current !== null; depth += 1) {
    if (isSchemaError(current)) messages.push(issuesInWords(current.issues));
    else if (current instanceof Error) messages.push(current.message);
    else messages.push(typeof current === "string" ? current : inspect(current));
    const cause: unknown = current instanceof Error ? current.cause : undefined;
    // Whoever wrapped a schema's error has said what is in it.
    current = current instanceof TradewindError && isSchemaError(cause) ? undefined : cause;
  }
  const said = messages.filter((message, at) => message !== "" && message !== messages[at - 1]);
  return said.join(": ") || "unknown error";
}
