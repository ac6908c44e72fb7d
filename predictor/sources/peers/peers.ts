import { randomUUID } from "node:crypto";
import { Agent } from "undici";
import { AddressFollower } from "@tradewind/core/addresses.ts";
import type { Lookup } from "@tradewind/core/addresses.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import type { BatchExchange, Forwarded, ReceivedBatch } from "./headers.ts";
import { PeerLink } from "./link.ts";
import type { LinkState } from "./link.ts";
import { PeerReception } from "./reception.ts";

export interface PeersOptions {
  /** OTLP/HTTP addresses of all predictors, this one among them or not. */
  readonly targets: readonly string[];
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
  readonly resolveEveryMs?: number;
  readonly maxQueuedBytes?: number;
  readonly maxAgeMs?: number;
  readonly heartbeatMs?: number;
}

const RESOLVE_MS = 5_000;
const QUEUE_BYTES = 32 * 2 ** 20;
const MAX_AGE_MS = 10_000;
const HEARTBEAT_MS = 1_000;
const TIMEOUT_MS = 2_000;
/** A peer that is silent for so many heartbeats is not heard any more. */
const SILENT_HEARTBEATS = 5;
/** Peers found in DNS beyond this are ignored: each gets every batch. */
const MAX_PEERS = 8;

export const PEER_RESULTS = ["sent", "dropped", "rejected"] as const;

/** How the exchange with the other predictors goes, for metrics. */
export interface PeersHealth {
  readonly states: Readonly<Record<LinkState, number>>;
  readonly results: Readonly<Record<(typeof PEER_RESULTS)[number], number>>;
  readonly missedTotal: number;
  readonly queuedBytes: number;
  /** Why spans may be missing now; undefined when they are not. */
  readonly problem: string | undefined;
}

/**
 * Shares spans among predictors behind one Service, which gives each client's batches to one of them: every batch that a
 * client sent here is forwarded once to all others, so that all see the same traffic and form the same windows. Where a
 * peer cannot be heard although it may be receiving, or batches got lost, the windows are a part of unknown size, and
 * {@link missingSince} says so.
 */
export class Peers implements BatchExchange {
  /** Names this process to its peers. */
  readonly instance = randomUUID();
  private readonly options: PeersOptions;
  private readonly dispatcher = new Agent({ connections: 2, connect: { timeout: TIMEOUT_MS } });
  private readonly follower: AddressFollower;
  private readonly reception: PeerReception;
  private readonly links = new Map<string, PeerLink>();
  private readonly results = { sent: 0, dropped: 0, rejected: 0 };
  private readonly heartbeatMs: number;
  /** Monotonic time of the last moment at which spans were known to be missing. */
  private missingMs = Number.NEGATIVE_INFINITY;
  private problem: string | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(options: PeersOptions) {
    this.options = options;
    this.reception = new PeerReception(this.instance);
    this.heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    const { log, lookup, targets } = options;
    this.follower = new AddressFollower({
      targets,
      everyMs: options.resolveEveryMs ?? RESOLVE_MS,
      log,
      lookup,
      onChange: (addresses) => this.connect(addresses),
    });
    this.connect(this.follower.current());
  }

  /** Never rejects: peers may come later. */
  async start(): Promise<void> {
    await this.follower.start();
    this.timer = setInterval(() => this.look(), this.heartbeatMs);
    this.timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.follower.stop();
    await Promise.all([...this.links.values()].map(async (link) => link.stop()));
    await this.dispatcher.destroy();
  }

  /**
   * Told of every batch before its spans are counted.
   * @returns whether they are to be counted: not those that a peer had sent before
   */
  received(batch: ReceivedBatch, mark: Forwarded | undefined): boolean {
    if (mark !== undefined) {
      return this.reception.note(mark, batch.body.byteLength === 0, this.options.clock.monotonicMs());
    }
    return true;
  }

  /** Told of every batch from a client once its spans were counted. */
  forward(batch: ReceivedBatch): void {
    for (const link of this.links.values()) link.offer(batch);
  }

  /** Whether spans of the last `seconds` may be missing. */
  missingWithin(seconds: number): boolean {
    this.look();
    return this.options.clock.monotonicMs() - this.missingMs <= seconds * 1e3;
  }

  health(): PeersHealth {
    const states: Record<LinkState, number> = { new: 0, reached: 0, refused: 0, unreachable: 0, self: 0 };
    let queuedBytes = 0;
    for (const { bytes, state } of this.links.values()) {
      states[state] += 1;
      queuedBytes += bytes;
    }
    const { missedTotal } = this.reception;
    return { states, results: { ...this.results }, missedTotal, queuedBytes, problem: this.problem };
  }

  private connect(addresses: readonly string[]): void {
    const wanted = addresses.slice(0, MAX_PEERS);
    for (const [address, link] of this.links) {
      if (wanted.includes(address)) continue;
      this.links.delete(address);
      void link.stop();
    }
    const { clock, maxAgeMs, maxQueuedBytes, rng } = this.options;
    for (const address of wanted) {
      if (this.links.has(address)) continue;
      const link = new PeerLink({
        address,
        ownInstance: this.instance,
        dispatcher: this.dispatcher,
        clock,
        rng,
        maxQueuedBytes: maxQueuedBytes ?? QUEUE_BYTES,
        maxAgeMs: maxAgeMs ?? MAX_AGE_MS,
        heartbeatMs: this.heartbeatMs,
        timeoutMs: TIMEOUT_MS,
        onResult: (result) => {
          this.results[result] += 1;
        },
      });
      this.links.set(address, link);
      link.start();
    }
  }

  /** Looks whether every peer that may be receiving is heard. */
  private look(): void {
    const nowMs = this.options.clock.monotonicMs();
    const problem = this.findProblem(nowMs);
    if (problem !== undefined) this.missingMs = nowMs;
    this.missingMs = Math.max(this.missingMs, this.reception.lastMissedMs);
    if (problem === this.problem) return;
    if (problem !== undefined) this.options.log.warn({ problem }, "spans of other predictors may be missing");
    else this.options.log.info("all other predictors are heard again");
    this.problem = problem;
  }

  private findProblem(nowMs: number): string | undefined {
    const patienceMs = SILENT_HEARTBEATS * this.heartbeatMs;
    for (const { address, instance, sinceMs, state } of this.links.values()) {
      if (state === "self" || state === "refused" || nowMs - sinceMs < patienceMs) continue;
      if (state !== "reached") return `the predictor at ${address} cannot be reached`;
      if (instance === undefined) return `what answers at ${address} is no predictor of this version`;
      const heardMs = this.reception.heardMs(instance);
      if (heardMs === undefined || nowMs - heardMs > patienceMs) {
        return `the predictor at ${address} takes batches but sends none; is its --peers set?`;
      }
    }
    return undefined;
  }
}
