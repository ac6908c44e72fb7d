import { readFileSync, statSync } from "node:fs";
import { describeError, TradewindError } from "../values/errors.ts";
import type { Logger } from "../process/log.ts";

/** The kubelet renews a mounted Secret within a minute or two; it counts here within seconds. */
const REREAD_MS = 5_000;
const MAX_BYTES = 1_048_576;

export interface RereadOptions {
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** Least time between two reads. ms */
  readonly everyMs?: number;
}

/** How the bytes of a file are used. */
interface FileUse<Content> {
  /** What the file is, for messages: `token file`. */
  readonly what: string;
  /** Code of the error when the first read fails. */
  readonly code: string;
  /** @throws Error that says what is wrong, without the file's content */
  readonly parse: (bytes: Buffer) => Content;
}

/**
 * A small file that changes under its reader, as a mounted Secret does. It is read again when it is used, at most every few
 * seconds. While it cannot be used, what was read last stays and the log says why.
 */
export class RereadFile<Content> {
  readonly #path: string;
  readonly #reading: FileUse<Content>;
  readonly #options: RereadOptions;
  #content: Content;
  #readMs: number;
  #lastProblem: string | undefined;

  /** @throws TradewindError `reading.code` when the file cannot be used */
  constructor(path: string, reading: FileUse<Content>, options: RereadOptions) {
    this.#path = path;
    this.#reading = reading;
    this.#options = options;
    this.#content = this.#read();
    this.#readMs = options.monotonicMs();
  }

  /** What the file held when it could last be used. */
  current(): Content {
    const { everyMs = REREAD_MS, log, monotonicMs } = this.#options;
    const nowMs = monotonicMs();
    if (nowMs - this.#readMs < everyMs) return this.#content;
    this.#readMs = nowMs;
    try {
      this.#content = this.#read();
      this.#lastProblem = undefined;
    } catch (error) {
      const problem = describeError(error);
      if (problem !== this.#lastProblem)
        log.error({ problem }, `the ${this.#reading.what} stays as it was read last`);
      this.#lastProblem = problem;
    }
    return this.#content;
  }

  #read(): Content {
    const { code, parse, what } = this.#reading;
    try {
      if (statSync(this.#path).size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
      return parse(readFileSync(this.#path));
    } catch (error) {
      throw new TradewindError(code, `cannot use the ${what} ${this.#path}`, { cause: error });
    }
  }
}
