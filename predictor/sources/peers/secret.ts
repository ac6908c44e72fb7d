import { readFileSync, statSync } from "node:fs";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";

/** As many random characters are beyond guessing. */
const LEAST_BYTES = 16;
const MOST_BYTES = 4_096;
/** How often the file is looked at again: the kubelet renews a mounted Secret within a minute or two. */
const LOOK_MS = 5_000;

/** The secret that predictors share, from a file that is read again when it changes. Never logged. */
export class PeerSecret {
  private readonly path: string;
  private readonly log: Logger;
  private fingerprint = "";
  private bytes: Uint8Array;
  private timer: NodeJS.Timeout | undefined;

  /** @throws TradewindError `invalid-config` when the file cannot be read or holds less than 16 bytes */
  constructor(path: string, log: Logger) {
    this.path = path;
    this.log = log;
    try {
      this.bytes = this.read();
    } catch (error) {
      throw new TradewindError("invalid-config", `the peers' secret ${path}: ${describeError(error)}`, {
        cause: error,
      });
    }
  }

  get current(): Uint8Array {
    return this.bytes;
  }

  start(): void {
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Takes a changed file into use; one that cannot be used leaves the secret as it was. */
  look(): void {
    try {
      this.bytes = this.read();
    } catch (error) {
      this.log.warn({ path: this.path, problem: describeError(error) }, "the peers' secret stays as it was");
    }
  }

  private read(): Uint8Array {
    const { ino, mtimeMs, size } = statSync(this.path);
    const fingerprint = `${mtimeMs}:${ino}:${size}`;
    if (fingerprint === this.fingerprint) return this.bytes;
    if (size > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES} bytes`);
    const bytes = Buffer.from(readFileSync(this.path, "utf8").trim());
    if (bytes.length < LEAST_BYTES) throw new Error(`it must hold at least ${LEAST_BYTES} bytes`);
    this.fingerprint = fingerprint;
    return bytes;
  }
}
