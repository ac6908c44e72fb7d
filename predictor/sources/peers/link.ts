import { withinTime } from "@tradewind/core/process/within-time.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { byCauseCode, TLS_PROBLEMS } from "@tradewind/core/net/tls-problem.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { retryDelayMs } from "@tradewind/core/process/retry-delay.ts";
import type { Dispatcher } from "undici";
import { ENVELOPE_HEADER, hashOf, PeerAnswer, seal, unseal } from "./envelope.ts";
import type { PeerMessage } from "./envelope.ts";
import type { ReceivedBatch } from "../otlp/exchange.ts";

/** Where predictors listen for each other. */
export const PEER_PATH = "/v1/peer";

/**
 * What the last attempt said of a peer: `new` not tried yet, `reached` it takes batches, `refused` nothing listens there,
 * `unreachable` nobody knows, `stranger` what answers does not know the secret, `self` it is this very process.
 */
export type LinkState = "new" | "reached" | "refused" | "unreachable" | "stranger" | "self";

export interface LinkOptions {
  /** Base address, `http://10.0.0.7:9814`. */
  readonly address: string;
  readonly ownInstance: string;
  /** Names the link among all of this process; each has a higher one than those before. */
  readonly epoch: number;
  readonly secret: () => Uint8Array;
  /** Batches that clients have given to this predictor. */
  readonly total: () => number;
  readonly dispatcher: () => Dispatcher;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly maxQueuedBytes: number;
  /** Batches older than this are of no use to a window any more. */
  readonly maxAgeMs: number;
  /** A sign of life is sent after so long a silence. */
  readonly heartbeatMs: number;
  readonly timeoutMs: number;
  readonly onResult: (result: "sent" | "dropped" | "rejected") => void;
  /** Another process answers at the address than the one before, which has ended. */
  readonly onReplaced: (instance: string) => void;
}

interface QueuedBatch extends ReceivedBatch {
  readonly sequence: number;
  readonly queuedMs: number;
}

const RETRY = { firstMs: 50, maxMs: 500 };
const NOTHING: ReceivedBatch = { body: new Uint8Array(0), contentType: "" };

/** Sends batches to one peer, one after the other; the oldest go overboard when it does not keep up. */
export class PeerLink {
  readonly address: string;
  readonly sinceMs: number;
  /** Resolves after the first attempt, whatever it came to. */
  readonly tried: Promise<void>;
  /** The predictor that answered there last. */
  instance: string | undefined;
  /** When it last answered, monotonic. */
  reachedMs: number;
  /** When connections began to be refused; undefined while they are not. */
  refusedMs: number | undefined;
  /** When the address left the name it came from; undefined while it is in it. */
  leftMs: number | undefined;
  /** What was wrong with the last attempt's certificates, in words; undefined where that was not it. */
  tlsProblem: string | undefined;
  private readonly options: LinkOptions;
  private readonly ending = new AbortController();
  private readonly queue: QueuedBatch[] = [];
  private queuedBytes = 0;
  private turn = 0;
  private isStopping = false;
  private current: LinkState = "new";
  private wake: () => void = () => undefined;
  private loop: Promise<void> = Promise.resolve();
  private readonly firstAttempt = Promise.withResolvers<void>();

  constructor(options: LinkOptions) {
    this.options = options;
    this.tried = this.firstAttempt.promise;
    this.address = options.address;
    this.sinceMs = options.clock.monotonicMs();
    this.reachedMs = this.sinceMs;
  }

  get state(): LinkState {
    return this.current;
  }

  get bytes(): number {
    return this.queuedBytes;
  }

  start(): void {
    this.loop = this.run();
  }

  /** Sends what waits for so long at most, says good-bye where `saysBye`, and ends. */
  async stop(saysBye: boolean, withinMs: number): Promise<void> {
    const timer = setTimeout(() => this.ending.abort(), withinMs);
    this.isStopping = true;
    this.wake();
    await this.loop;
    if (saysBye && this.current === "reached") await this.send("bye", undefined);
    clearTimeout(timer);
    this.ending.abort();
  }

  /** Takes a batch without waiting. Nothing is kept for ourselves, nor for a peer that does not run. */
  offer(batch: ReceivedBatch, sequence: number): void {
    if (this.current === "self") return;
    if (this.current === "refused" || batch.body.byteLength > this.options.maxQueuedBytes) {
      this.options.onResult("dropped");
      return;
    }
    this.queue.push({ ...batch, sequence, queuedMs: this.options.clock.monotonicMs() });
    this.queuedBytes += batch.body.byteLength;
    while (this.queuedBytes > this.options.maxQueuedBytes) this.dropFirst();
    this.wake();
  }

  private dropFirst(): void {
    const dropped = this.queue.shift();
    if (dropped === undefined) return;
    this.queuedBytes -= dropped.body.byteLength;
    this.options.onResult("dropped");
  }

  private dropAll(): void {
    while (this.queue.length > 0) this.dropFirst();
  }

  private get isOver(): boolean {
    const { aborted } = this.ending.signal;
    return aborted || (this.isStopping && (this.queue.length === 0 || this.current !== "reached"));
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.isOver) {
      this.dropOld();
      const next = this.queue[0];
      const isGreeting = this.instance === undefined;
      const kind = isGreeting ? "hello" : next === undefined ? "alive" : "batch";
      const went = await this.send(kind, isGreeting ? undefined : next);
      if (went && !isGreeting && next !== undefined && this.queue[0] === next) {
        this.queue.shift();
        this.queuedBytes -= next.body.byteLength;
      }
      this.firstAttempt.resolve();
      failures = went ? 0 : failures + 1;
      if (failures > 0) await this.sleep(retryDelayMs(failures, undefined, RETRY, this.options.rng), false);
      else if (this.current === "self" || (this.queue.length === 0 && !isGreeting))
        await this.sleep(this.options.heartbeatMs, true);
    }
  }

  private dropOld(): void {
    const oldestMs = this.options.clock.monotonicMs() - this.options.maxAgeMs;
    while (this.queue[0] !== undefined && this.queue[0].queuedMs < oldestMs) this.dropFirst();
  }

  /** @returns whether the peer has dealt with it, be it by refusing it for good */
  private async send(kind: PeerMessage["kind"], batch: QueuedBatch | undefined): Promise<boolean> {
    const { clock, ownInstance, secret, total } = this.options;
    this.turn += 1;
    const { body, contentType } = batch ?? NOTHING;
    const message: PeerMessage = {
      kind,
      from: ownInstance,
      ...(kind !== "hello" && this.instance !== undefined && { to: this.instance }),
      epoch: this.options.epoch,
      turn: this.turn,
      sequence: batch?.sequence ?? total(),
      waitedMs: batch === undefined ? 0 : clock.monotonicMs() - batch.queuedMs,
      contentType,
      bodyHash: hashOf(body),
    };
    try {
      const sealed = await this.ask(seal(secret(), message), body);
      const answer = unseal(secret(), sealed, PeerAnswer);
      if (answer?.to !== ownInstance || answer.epoch !== message.epoch || answer.turn !== message.turn) {
        this.turnTo("stranger");
        return false;
      }
      return this.reached(answer, kind);
    } catch (error) {
      this.tlsProblem = byCauseCode(error, TLS_PROBLEMS);
      if (!this.ending.signal.aborted) this.turnTo(isRefusal(error) ? "refused" : "unreachable");
      return false;
    }
  }

  /** @returns the envelope of the answer, if it has one */
  private async ask(envelope: string, body: Uint8Array): Promise<string | string[] | undefined> {
    const { dispatcher, timeoutMs } = this.options;
    const { origin, pathname } = new URL(this.address);
    return withinTime(timeoutMs, this.ending.signal, async (signal) => {
      const response = await dispatcher().request({
        origin,
        path: `${pathname.replace(/\/$/, "")}${PEER_PATH}`,
        method: "POST",
        headers: { "content-type": "application/octet-stream", [ENVELOPE_HEADER]: envelope },
        body,
        signal,
      });
      await response.body.dump();
      return response.headers[ENVELOPE_HEADER];
    });
  }

  private reached({ from, result }: PeerAnswer, kind: PeerMessage["kind"]): boolean {
    const { onReplaced, onResult, ownInstance } = this.options;
    if (from === ownInstance) {
      this.turnTo("self");
      return true;
    }
    if (this.instance !== undefined && this.instance !== from) onReplaced(this.instance);
    const isOther = this.instance !== from;
    this.instance = from;
    this.turnTo("reached");
    if (kind === "hello") return true;
    // What was meant for the process before is of use to the one that runs now.
    if (isOther || result === "busy" || result === "other") return false;
    if (kind === "batch") onResult(result === "taken" ? "sent" : "rejected");
    return true;
  }

  private turnTo(state: LinkState): void {
    const nowMs = this.options.clock.monotonicMs();
    this.current = state;
    this.refusedMs = state === "refused" ? (this.refusedMs ?? nowMs) : undefined;
    if (state === "reached") this.reachedMs = nowMs;
    if (state !== "unreachable") this.tlsProblem = undefined;
    if (state === "refused" || state === "self") this.dropAll();
  }

  private async sleep(ms: number, untilWoken: boolean): Promise<void> {
    const { signal } = this.ending;
    if (signal.aborted || (untilWoken && this.isStopping)) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.wake = () => undefined;
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end, { once: true });
      if (untilWoken) this.wake = end;
    });
  }
}

/** Nothing listens at the address, so nobody sends spans there either. */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
}
