import type { Clock } from "@tradewind/core/clock.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import { retryDelayMs } from "@tradewind/core/retry-delay.ts";
import type { Dispatcher } from "undici";
import { INSTANCE_HEADER, PEER_HEADER, SEQUENCE_HEADER } from "./headers.ts";
import type { ReceivedBatch } from "./headers.ts";

/**
 * What the last attempt said of a peer: `new` not tried yet, `reached` it takes batches, `refused` nothing listens there,
 * `unreachable` nobody knows, `self` it is this very process.
 */
export type LinkState = "new" | "reached" | "refused" | "unreachable" | "self";

export interface LinkOptions {
  /** Base address, `http://10.0.0.7:4318`. */
  readonly address: string;
  readonly ownInstance: string;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly maxQueuedBytes: number;
  /** Batches older than this are of no use to a window any more. */
  readonly maxAgeMs: number;
  /** An empty batch is sent after so long a silence, as a sign of life. */
  readonly heartbeatMs: number;
  readonly timeoutMs: number;
  readonly onResult: (result: "sent" | "dropped" | "rejected") => void;
}

interface QueuedBatch extends ReceivedBatch {
  readonly sequence: number;
  readonly queuedMs: number;
}

const RETRY = { firstMs: 50, maxMs: 500 };
const EMPTY: ReceivedBatch = { body: new Uint8Array(0), contentType: "application/x-protobuf" };

/** Sends batches to one peer, one after the other; the oldest go overboard when it does not keep up. */
export class PeerLink {
  readonly address: string;
  readonly sinceMs: number;
  /** The predictor that answers there. */
  instance: string | undefined;
  private readonly options: LinkOptions;
  private readonly ending = new AbortController();
  private readonly queue: QueuedBatch[] = [];
  private queuedBytes = 0;
  private sequence = 0;
  private current: LinkState = "new";
  private wake: () => void = () => undefined;
  private loop: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    this.options = options;
    this.address = options.address;
    this.sinceMs = options.clock.monotonicMs();
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

  async stop(): Promise<void> {
    this.ending.abort();
    this.wake();
    await this.loop;
  }

  /** Takes a batch without waiting. Nothing is kept for ourselves, nor for a peer that does not run. */
  offer(batch: ReceivedBatch): void {
    if (this.current === "self") return;
    this.sequence += 1;
    if (this.current === "refused" || batch.body.byteLength > this.options.maxQueuedBytes) {
      this.options.onResult("dropped");
      return;
    }
    this.queue.push({ ...batch, sequence: this.sequence, queuedMs: this.options.clock.monotonicMs() });
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

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.ending.signal.aborted) {
      this.dropOld();
      const next = this.queue[0];
      const went = await this.send(next ?? EMPTY, next?.sequence ?? this.sequence);
      if (went && next !== undefined && this.queue[0] === next) {
        this.queue.shift();
        this.queuedBytes -= next.body.byteLength;
      }
      failures = went ? 0 : failures + 1;
      if (failures > 0) await this.sleep(retryDelayMs(failures, undefined, RETRY, this.options.rng), false);
      else if (this.queue.length === 0) await this.sleep(this.options.heartbeatMs, true);
    }
  }

  private dropOld(): void {
    const oldestMs = this.options.clock.monotonicMs() - this.options.maxAgeMs;
    while (this.queue[0] !== undefined && this.queue[0].queuedMs < oldestMs) this.dropFirst();
  }

  /** @returns whether the peer has dealt with it, be it by refusing it for good */
  private async send({ body, contentType }: ReceivedBatch, sequence: number): Promise<boolean> {
    const { dispatcher, ownInstance, timeoutMs } = this.options;
    const { origin, pathname } = new URL(this.address);
    try {
      const response = await dispatcher.request({
        origin,
        path: `${pathname.replace(/\/$/, "")}/v1/traces`,
        method: "POST",
        headers: {
          "content-type": contentType,
          [PEER_HEADER]: ownInstance,
          [SEQUENCE_HEADER]: String(sequence),
        },
        body,
        signal: AbortSignal.any([this.ending.signal, AbortSignal.timeout(timeoutMs)]),
      });
      await response.body.dump();
      const isBusy = response.statusCode === 429 || response.statusCode >= 500;
      this.reached(response.headers[INSTANCE_HEADER]);
      if (isBusy) return false;
      const isSent = response.statusCode < 300;
      if (body.byteLength > 0) this.options.onResult(isSent ? "sent" : "rejected");
      return true;
    } catch (error) {
      if (!this.ending.signal.aborted) this.current = isRefusal(error) ? "refused" : "unreachable";
      if (this.current === "refused") while (this.queue.length > 0) this.dropFirst();
      return false;
    }
  }

  private reached(instance: string | string[] | undefined): void {
    this.instance = typeof instance === "string" ? instance : undefined;
    this.current = this.instance === this.options.ownInstance ? "self" : "reached";
    if (this.current === "self") while (this.queue.length > 0) this.dropFirst();
  }

  private async sleep(ms: number, untilWoken: boolean): Promise<void> {
    const { signal } = this.ending;
    if (signal.aborted) return;
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
