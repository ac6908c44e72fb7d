import { readFileSync } from "node:fs";
import { TradewindError } from "./errors.ts";

/** A renewed Secret counts within seconds. */
const REREAD_MS = 5_000;

/** A token in a file, without the line's end. It is read again now and then, since a mounted Secret changes under its reader. */
export class TokenFile {
  readonly #path: string;
  readonly #monotonicMs: () => number;
  #token: string;
  #readMs: number;

  /** @throws TradewindError `token-unreadable` when the file cannot be read or is empty */
  constructor(path: string, monotonicMs: () => number) {
    this.#path = path;
    this.#monotonicMs = monotonicMs;
    this.#token = read(path);
    this.#readMs = monotonicMs();
  }

  /** The token as read last; while the file cannot be read the one before counts. */
  current(): string {
    const nowMs = this.#monotonicMs();
    if (nowMs - this.#readMs < REREAD_MS) return this.#token;
    this.#readMs = nowMs;
    try {
      this.#token = read(this.#path);
    } catch {
      // Half-written: the next look finds it whole.
    }
    return this.#token;
  }
}

function read(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new TradewindError("token-unreadable", `cannot read the token file ${path}`, { cause: error });
  }
  if (text === "") throw new TradewindError("token-unreadable", `the token file ${path} is empty`);
  return text;
}
