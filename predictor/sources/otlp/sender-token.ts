import { createHash, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { Refusal } from "./refusal.ts";
import { RPC_CODE } from "./responses.ts";

const MAX_BYTES = 65_536;
const MIN_LENGTH = 16;

/**
 * Tokens that senders of spans may show, one in each line of a file: while a token is renewed the old and the new one are
 * both taken. The file is read again every few seconds; while it cannot be used the tokens read last stay.
 */
export class SenderTokens {
  readonly #path: string;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #digests: readonly Buffer[];
  #lastProblem: string | undefined;

  /** @throws TradewindError `otlp-token` when the file cannot be read or holds no token */
  static async open(path: string, { everyMs, log }: { everyMs: number; log: Logger }): Promise<SenderTokens> {
    return new SenderTokens(path, await readDigests(path), everyMs, log);
  }

  private constructor(path: string, digests: readonly Buffer[], everyMs: number, log: Logger) {
    this.#path = path;
    this.#log = log;
    this.#digests = digests;
    this.#timer = setInterval(() => void this.#reload(), everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * Looks at the header `authorization` of a request. Every token is compared in full, whichever it is: the time taken says
   * nothing of how much of one was right.
   * @throws Refusal 401, UNAUTHENTICATED
   */
  require(authorization: string | undefined): void {
    const shown = digestOf(/^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "");
    let isRight = false;
    for (const digest of this.#digests) isRight = timingSafeEqual(digest, shown) || isRight;
    if (isRight) return;
    throw new Refusal(
      { statusCode: 401, rpcCode: RPC_CODE.unauthenticated, reason: "token" },
      "this receiver takes spans with a token only: authorization: Bearer TOKEN",
    );
  }

  async #reload(): Promise<void> {
    try {
      this.#digests = await readDigests(this.#path);
      this.#lastProblem = undefined;
    } catch (error) {
      const problem = describeError(error);
      if (problem !== this.#lastProblem) this.#log.error({ problem }, "keeping the tokens read last");
      this.#lastProblem = problem;
    }
  }
}

async function readDigests(path: string): Promise<Buffer[]> {
  try {
    const text = await readFile(path, "utf8");
    if (text.length > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    const tokens = text.split(/\r?\n/).filter((line) => line !== "");
    if (tokens.length === 0) throw new Error("it holds no token");
    // What is wrong with a token is said without the token.
    if (tokens.some((token) => token.length < MIN_LENGTH || /\s/.test(token))) {
      throw new Error(`a token must be at least ${MIN_LENGTH} characters long and without spaces`);
    }
    return tokens.map(digestOf);
  } catch (error) {
    throw new TradewindError("otlp-token", `cannot use the token file ${path}`, { cause: error });
  }
}

const digestOf = (token: string): Buffer => createHash("sha256").update(token).digest();
