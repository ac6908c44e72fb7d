import { createHash, timingSafeEqual } from "node:crypto";
import { RereadFile } from "./reread-file.ts";
import type { RereadOptions } from "./reread-file.ts";

/** Characters that each token must have at least: what can be guessed is no token. */
export const LEAST_TOKEN_LENGTH = 16;

/** One line of the file. */
interface Token {
  readonly text: string;
  readonly digest: Buffer;
}

/**
 * Tokens in a file, one in each line. Those who ask for a token accept each of them, those who show one show the first: while a
 * token is renewed the file holds the old one and then the new one.
 */
export class TokenFile {
  readonly #file: RereadFile<readonly [Token, ...Token[]]>;

  /** @throws TradewindError `token-unusable` when the file cannot be read, holds no token or one that is too short */
  constructor(path: string, options: RereadOptions) {
    const reading = { what: "token file", code: "token-unusable", parse: tokensIn };
    this.#file = new RereadFile(path, reading, options);
  }

  /** The token to show. */
  current(): string {
    return this.#file.current()[0].text;
  }

  /**
   * Whether this is one of the tokens. Every one is compared in full, whichever it is: the time taken says nothing of how much of
   * one was right.
   */
  accepts(shown: string | undefined): boolean {
    const digest = digestOf(shown ?? "");
    let isRight = false;
    for (const token of this.#file.current()) isRight = timingSafeEqual(token.digest, digest) || isRight;
    return isRight;
  }
}

/** The token in a header `authorization: Bearer TOKEN`. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

/** What is wrong with a token is said without the token. */
function tokensIn(bytes: Buffer): readonly [Token, ...Token[]] {
  const lines = bytes.toString("utf8").split("\n");
  const tokens = lines.map((line) => line.trim()).filter((line) => line !== "");
  if (tokens.some((token) => token.length < LEAST_TOKEN_LENGTH || /\s/.test(token))) {
    throw new Error(
      `a token must be at least ${LEAST_TOKEN_LENGTH} characters long and without spaces; make one with: openssl rand -hex 24`,
    );
  }
  const [first, ...others] = tokens.map((text) => ({ text, digest: digestOf(text) }));
  if (first === undefined) throw new Error("it holds no token");
  return [first, ...others];
}

/** SHA-256. */
export const digestOf = (token: string): Buffer => createHash("sha256").update(token).digest();
