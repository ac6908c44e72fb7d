import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { RereadFile } from "./reread-file.ts";
import type { RereadOptions } from "./reread-file.ts";
import { digestOf, LEAST_TOKEN_LENGTH } from "./token-file.ts";

/**
 * What a token allows besides reading: `approve` decides on changes that wait, `override` pauses, holds and undoes, `send` sends
 * spans, `profile` samples a process.
 */
export const SCOPES = ["read", "approve", "override", "send", "profile"] as const;
export type Scope = (typeof SCOPES)[number];

/** Who asks, by the token that was shown. */
export interface Caller {
  /** Of the token; {@link DEFAULT_NAME} for one that stands alone on its line, absent where no token is asked for. */
  readonly name?: string;
  readonly scopes: readonly Scope[];
  /** The only namespaces that the token is for; absent: all. */
  readonly namespaces?: readonly string[];
}

/** Whoever reaches a port that asks for no token: it reads, and decides on nothing. */
export const ANYBODY: Caller = { scopes: ["read"] };
/** Names a token that stands alone on its line: with all scopes, for all namespaces. */
export const DEFAULT_NAME = "default";
/** What the audit trail calls those who decide by an annotation: the API server's own audit log says who wrote it. */
export const ANNOTATION_NAME = "annotation";

/** Names who asks to a meter of costs: a token of a name, else an address, since one without a name is many senders'. */
export const senderOf = ({ name }: Caller, address: string): string =>
  name === undefined || name === DEFAULT_NAME ? address : `token ${name}`;

export function may({ namespaces, scopes }: Caller, scope: Scope, namespace: string): boolean {
  return scopes.includes(scope) && (namespaces?.includes(namespace) ?? true);
}

const TokenLine = z
  .strictObject({
    name: z
      .string()
      .max(63)
      .regex(/^[A-Za-z0-9][\w.@-]*$/)
      .refine((name) => name !== DEFAULT_NAME && name !== ANNOTATION_NAME),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
    namespaces: z.array(z.string().min(1).max(63)).min(1).max(1_000).optional(),
    token: z.string().min(LEAST_TOKEN_LENGTH).max(1_000).regex(/^\S*$/).optional(),
    sha256: z
      .string()
      .length(64)
      .regex(/^[0-9a-f]*$/)
      .optional(),
  })
  .refine(({ sha256, token }) => (sha256 === undefined) !== (token === undefined), { path: ["token"] });

const RULES = {
  name: `1 to 63 letters, digits, '.', '_', '@' and '-', not '${DEFAULT_NAME}' and not '${ANNOTATION_NAME}'`,
  scopes: `a list of ${SCOPES.join(", ")}`,
  namespaces: "a list of namespaces; leave it out for all",
  token: `either 'token', at least ${LEAST_TOKEN_LENGTH} characters without spaces, or 'sha256' of one`,
  sha256: "64 hex digits, lower case",
} as const;

interface Entry {
  readonly digest: Buffer;
  readonly caller: Caller;
}

/**
 * Tokens that callers may show, one on each line: the token alone, or a JSON object
 * `{"name": "ann", "scopes": ["read", "approve"], "namespaces": ["shop"], "token": "…"}`, with `sha256` in the place of `token` where
 * the file shall not hold it. Two lines of one name renew a token.
 */
export class AccessTokens {
  readonly #file: RereadFile<readonly Entry[]>;

  /** @throws TradewindError `token-unusable` when the file cannot be read, holds no token or one that cannot be used */
  constructor(path: string, options: RereadOptions) {
    const reading = { what: "token file", code: "token-unusable", parse: entriesIn };
    this.#file = new RereadFile(path, reading, options);
  }

  /** Every token is compared in full, whichever it is: the time taken says nothing of how much of one was right. */
  callerOf(shown: string): Caller | undefined {
    const digest = digestOf(shown);
    let found: Caller | undefined;
    for (const entry of this.#file.current())
      if (timingSafeEqual(entry.digest, digest)) found ??= entry.caller;
    return found;
  }

  /** Whether a token alone on its line decides on changes: whoever reads the file of a scrape then approves. */
  hasDefault(): boolean {
    return this.#file.current().some(({ caller }) => caller.name === DEFAULT_NAME);
  }
}

/** What is wrong with a line is said without what stands on it. */
function entriesIn(bytes: Buffer): readonly Entry[] {
  const lines = bytes.toString("utf8").split("\n");
  const entries = lines.flatMap((line, index) => {
    const text = line.trim();
    return text === "" || text.startsWith("#") ? [] : [entryOn(text, index + 1)];
  });
  if (entries.length === 0) throw new Error("it holds no token");
  return entries;
}

function entryOn(line: string, lineNumber: number): Entry {
  if (!line.startsWith("{")) {
    if (line.length >= LEAST_TOKEN_LENGTH && !/\s/.test(line)) {
      return { digest: digestOf(line), caller: { name: DEFAULT_NAME, scopes: SCOPES } };
    }
    throw new Error(
      `line ${lineNumber}: a token must be at least ${LEAST_TOKEN_LENGTH} characters long and without spaces; make one with: openssl rand -hex 24`,
    );
  }
  const { data, error } = TokenLine.safeParse(jsonOf(line));
  if (data === undefined) {
    const field = error.issues[0]?.path[0];
    const rule = Object.entries(RULES).find(([name]) => name === field);
    throw new Error(
      rule === undefined
        ? `line ${lineNumber} must be one JSON object with name, scopes, token or sha256, and perhaps namespaces`
        : `line ${lineNumber}: '${rule[0]}' must be ${rule[1]}`,
    );
  }
  const { name, namespaces, scopes, sha256, token = "" } = data;
  return {
    digest: sha256 === undefined ? digestOf(token) : Buffer.from(sha256, "hex"),
    caller: { name, scopes, ...(namespaces && { namespaces }) },
  };
}

/** The parser's own message would show what stands on the line. */
function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
