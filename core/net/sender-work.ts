import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { senderAddress } from "./connection-limits.ts";
import { CostMeter, threadCpuMs, WorkShares } from "./cost-meter.ts";
import type { Logger } from "../process/log.ts";
import { Refusals } from "./refusals.ts";

export interface SenderWorkOptions {
  /** Share of a core that one sender may keep busy. */
  readonly maxSenderWork: number;
  /** Whether the port takes requests with a token only: a sender is then who shows it, wherever it comes from. */
  readonly byToken: boolean;
  readonly monotonicMs: () => number;
  /** CPU time that the event loop has used, ever; default: this thread's. ms */
  readonly cpuMs?: () => number;
  readonly log: Logger;
  /** Hears of each request that is turned away. */
  readonly onRefused?: () => void;
}

/** A request that is turned away. */
export interface TooMuchWork {
  readonly status: 429;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A team with the console, a Prometheus and other scalers behind one address use a tenth of it. */
export const MAX_SENDER_WORK = 0.5;
/** What may come at once: the lists of thousands of services for some people who begin together. */
const BURST_SECONDS = 10;
/** What reading a request and writing its answer cost besides what is measured, and the bytes of its body. */
const CALL_SECONDS = 2e-4;
const BYTES_PER_SECOND = 32 * 1_024 * 1_024;

const REASONS = {
  work: "a sender has used up its work on the HTTP port and is refused for a while; raise --max-sender-work if it is yours",
} as const;
export type WorkCounts = Readonly<Record<keyof typeof REASONS, number>>;

/** The cost meter of a port that speaks HTTP. It counts calls, bytes and the work that answers take, by sender. */
export class SenderWork {
  readonly #options: SenderWorkOptions;
  readonly #cpuMs: () => number;
  readonly #meter: CostMeter;
  readonly #shares = new WorkShares();
  readonly #refusals: Refusals<keyof typeof REASONS>;

  constructor(options: SenderWorkOptions) {
    const { log, maxSenderWork: share, monotonicMs } = options;
    this.#options = options;
    this.#cpuMs = options.cpuMs ?? threadCpuMs;
    this.#meter = new CostMeter({ share, burstSeconds: BURST_SECONDS });
    this.#refusals = new Refusals(REASONS, log, monotonicMs);
  }

  get refused(): WorkCounts {
    return this.#refusals.counts;
  }

  /**
   * Judges a request before anything of its body is read, and charges its sender what it costs until it is answered.
   * @param isStream answered for as long as somebody looks: only its beginning is charged
   * @returns how it is turned away; undefined when it may be answered
   */
  admit(request: IncomingMessage, response: ServerResponse, isStream: boolean): TooMuchWork | undefined {
    const { monotonicMs } = this.#options;
    const sender = this.#senderOf(request);
    const waitSeconds = this.#meter.waitSeconds(sender, monotonicMs());
    if (waitSeconds !== undefined) return this.#refuse(sender, waitSeconds);
    const bytes = Math.max(0, Number(request.headers["content-length"] ?? 0) || 0);
    this.#meter.charge(sender, CALL_SECONDS + bytes / BYTES_PER_SECOND, monotonicMs());
    const leave = this.#shares.begin(this.#cpuMs());
    const charge = (): void => this.#meter.charge(sender, leave(this.#cpuMs()), monotonicMs());
    if (isStream) setImmediate(charge);
    else response.once("close", charge);
    return undefined;
  }

  #refuse(sender: string, waitSeconds: number): TooMuchWork {
    this.#refusals.add("work", sender);
    this.#options.onRefused?.();
    const { share } = this.#meter.limits;
    const message = `you have kept more than ${share} of a core busy here; come back after ${waitSeconds} s, or have --max-sender-work raised`;
    // The next request, if it comes too soon, costs its sender a connection.
    return { status: 429, message, headers: { "retry-after": String(waitSeconds), connection: "close" } };
  }

  #senderOf({ headers, socket }: IncomingMessage): string {
    const { authorization } = headers;
    if (this.#options.byToken && authorization !== undefined) {
      return `token ${hash("sha256", authorization, "hex").slice(0, 16)}`;
    }
    return senderAddress(socket.remoteAddress);
  }
}
