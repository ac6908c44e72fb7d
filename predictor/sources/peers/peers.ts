import { randomUUID } from "node:crypto";
import type { Agent } from "undici";
import { AddressFollower } from "@tradewind/core/net/addresses.ts";
import type { Lookup } from "@tradewind/core/net/addresses.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { trimmedEnd } from "@tradewind/core/values/trimmed-end.ts";
import { PeerAccounts } from "./accounts.ts";
import { askState } from "./ask-state.ts";
import type { PeerAnswer, PeerMessage } from "./envelope.ts";
import type { BatchExchange, ReceivedBatch } from "../otlp/exchange.ts";
import { peerDispatcher } from "./dispatcher.ts";
import { PeerLink } from "./link.ts";
import type { LinkState } from "./link.ts";
import { missingWords, WHY_SILENT, WHY_UNHEARD } from "./missing-words.ts";
import type { MissingSpans } from "./missing-words.ts";
import { startPeerReceiver } from "./receiver.ts";
import type { PeerReceiver } from "./receiver.ts";
import type { PeerSecret } from "./secret.ts";

export interface PeersOptions {
  /** Addresses at which all predictors listen for each other, this one among them or not. */
  readonly targets: readonly string[];
  /** `host:port` to listen on for them. */
  readonly listen: string;
  readonly secret: PeerSecret;
  /** Certificates with which predictors prove to each other that they are some, both ways; absent: plain HTTP. */
  readonly tls?: ReloadingTls | undefined;
  /** Counts the spans of a batch that a peer's client sent. Rejects when it cannot be read. */
  readonly onBatch: (batch: ReceivedBatch) => Promise<void>;
  /** What the policies remember now, for a peer that starts; absent where nothing is kept for peers. */
  readonly state?: () => string | undefined;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
  readonly resolveEveryMs?: number;
  readonly maxQueuedBytes?: number;
  readonly maxAgeMs?: number;
  readonly heartbeatMs?: number;
  /** A peer whose address has left the name, and that was not heard or reached for so long since, is gone. */
  readonly goneAfterMs?: number;
}

const RESOLVE_MS = 5_000;
const QUEUE_BYTES = 32 * 2 ** 20;
const MAX_AGE_MS = 10_000;
const HEARTBEAT_MS = 1_000;
const TIMEOUT_MS = 2_000;
const GONE_AFTER_MS = 60_000;
/** What waits to be sent at the end may take so long. */
const FAREWELL_MS = 1_500;
/** A peer at work has said how far it has come within so many heartbeats. */
const TOLERATED_HEARTBEATS = 2;
/** A peer that is silent for so many heartbeats is worth a line in the log. */
const SILENT_HEARTBEATS = 5;
/** Each peer gets every batch: beyond this they are not followed, and what they receive is missing. */
const MAX_PEERS = 8;

export const PEER_RESULTS = ["sent", "dropped", "rejected"] as const;

/** How the exchange with the other predictors goes, for metrics. */
export interface PeersHealth {
  readonly states: Readonly<Record<LinkState, number>>;
  readonly results: Readonly<Record<(typeof PEER_RESULTS)[number], number>>;
  readonly missedTotal: number;
  /** Requests that did not prove that their sender knows the secret. */
  readonly strangersTotal: number;
  /** Messages that had come before: copies made on the way, or answers that came too late. */
  readonly replaysTotal: number;
  readonly queuedBytes: number;
  /** Why spans may be missing now; undefined when they are not. */
  readonly problem: string | undefined;
}

/**
 * Shares spans among predictors behind one Service, which gives each client's batches to one of them: every batch that a
 * client sent here is forwarded once to all others, so that all see the same traffic and form the same windows. What each
 * peer received is known by its own numbers; {@link missing} says what of it did not come.
 */
export class Peers implements BatchExchange {
  /** Names this process to its peers. */
  readonly instance = randomUUID();
  private readonly options: PeersOptions;
  private dispatcher: Agent;
  private readonly follower: AddressFollower;
  private readonly accounts = new PeerAccounts();
  private readonly links = new Map<string, PeerLink>();
  private readonly results = { sent: 0, dropped: 0, rejected: 0 };
  private readonly heartbeatMs: number;
  private readonly goneAfterMs: number;
  private receiver: PeerReceiver | undefined;
  private listed = 0;
  private epochs = 0;
  private total = 0;
  private strangers = 0;
  private replays = 0;
  private problem: string | undefined;
  /** What was last logged of it, without times. */
  private reported: string | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(options: PeersOptions) {
    this.options = options;
    this.heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.goneAfterMs = options.goneAfterMs ?? GONE_AFTER_MS;
    const { log, lookup, targets } = options;
    this.follower = new AddressFollower({
      targets,
      everyMs: options.resolveEveryMs ?? RESOLVE_MS,
      log,
      lookup,
      onChange: (addresses) => this.connect(addresses),
    });
    const connected = (): Agent =>
      peerDispatcher({
        timeoutMs: TIMEOUT_MS,
        tls: options.tls,
        nameOf: (address) => this.follower.nameOf(address),
      });
    this.dispatcher = connected();
    options.tls?.onChange(() => {
      // What waits for an answer gets it; new messages go over connections with the new certificate.
      void this.dispatcher.close();
      this.dispatcher = connected();
    });
  }

  /**
   * Listens, and looks for the peers, which may come later.
   * @returns the address listened on
   * @throws TradewindError `cannot-listen`
   */
  async start(): Promise<string> {
    const { listen, secret, tls } = this.options;
    this.receiver = await startPeerReceiver({
      listen,
      tls,
      instance: this.instance,
      secret: () => secret.current,
      onMessage: async (message, body, host) => this.heard(message, body, host),
      state: () => this.options.state?.(),
      isRepeated: (message) => this.accounts.isRepeated(message),
      onRepeated: () => {
        this.replays += 1;
      },
      onStranger: () => {
        this.strangers += 1;
      },
      monotonicMs: () => this.options.clock.monotonicMs(),
    });
    secret.start();
    this.connect(this.follower.current());
    await this.follower.start();
    this.timer = setInterval(() => this.look(), this.heartbeatMs);
    this.timer.unref();
    return this.receiver.address;
  }

  /** What the policies of the peers remember, as far as they answer now. */
  async askStates(): Promise<readonly string[]> {
    const { secret } = this.options;
    const addresses = this.follower.current().slice(0, MAX_PEERS);
    const answers = await Promise.all(
      addresses.map(async (address, index) =>
        askState({
          address,
          ownInstance: this.instance,
          turn: index + 1,
          secret: () => secret.current,
          dispatcher: this.dispatcher,
          timeoutMs: TIMEOUT_MS,
        }),
      ),
    );
    return answers.filter((text) => text !== undefined);
  }

  /** Names of the peers that answered the last time, as they name themselves. */
  answering(): readonly string[] {
    return [...this.links.values()].flatMap(({ instance, state }) =>
      state === "reached" && instance !== undefined ? [instance] : [],
    );
  }

  /** Resolves once every peer whose address is known was tried. */
  async met(): Promise<void> {
    await Promise.all([...this.links.values()].map(async ({ tried }) => tried));
  }

  /** Sends what waits, tells the peers that no more will come, and ends. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.follower.stop();
    this.options.secret.stop();
    await Promise.all([...this.links.values()].map(async (link) => link.stop(true, FAREWELL_MS)));
    await this.receiver?.stop();
    await this.dispatcher.destroy();
  }

  forward(batch: ReceivedBatch): void {
    this.total += 1;
    for (const link of this.links.values()) link.offer(batch, this.total);
  }

  /**
   * What is missing of the spans that ended between two monotonic times, in words; empty when everything that the peers
   * received has come.
   */
  missing(fromMs: number, toMs: number): readonly string[] {
    this.look();
    return missingWords(this.parts(fromMs, toMs), this.options.clock);
  }

  health(): PeersHealth {
    const states: Record<LinkState, number> = {
      new: 0,
      reached: 0,
      refused: 0,
      unreachable: 0,
      stranger: 0,
      self: 0,
    };
    let queuedBytes = 0;
    for (const { bytes, state } of this.links.values()) {
      states[state] += 1;
      queuedBytes += bytes;
    }
    return {
      states,
      results: { ...this.results },
      missedTotal: this.accounts.missedTotal,
      strangersTotal: this.strangers,
      replaysTotal: this.replays,
      queuedBytes,
      problem: this.problem,
    };
  }

  private async heard(message: PeerMessage, body: Uint8Array, host: string): Promise<PeerAnswer["result"]> {
    const { clock, onBatch } = this.options;
    const { contentType, from } = message;
    if (from === this.instance) return "taken";
    const noted = this.accounts.note(message, host, clock.monotonicMs());
    if (noted === "replayed") this.replays += 1;
    if (noted !== "fresh") return "taken";
    try {
      await onBatch({ body, contentType });
      return "taken";
    } catch {
      this.accounts.unreadable(from, clock.monotonicMs());
      return "unreadable";
    }
  }

  private connect(addresses: readonly string[]): void {
    const nowMs = this.options.clock.monotonicMs();
    this.listed = addresses.length;
    const wanted = addresses.slice(0, MAX_PEERS);
    for (const [address, link] of this.links) {
      link.leftMs = wanted.includes(address) ? undefined : (link.leftMs ?? nowMs);
    }
    for (const address of wanted) {
      if (!this.links.has(address)) this.open(address);
    }
  }

  private open(address: string): void {
    const { clock, maxAgeMs, maxQueuedBytes, rng, secret } = this.options;
    this.epochs += 1;
    const link = new PeerLink({
      address,
      ownInstance: this.instance,
      epoch: this.epochs,
      secret: () => secret.current,
      total: () => this.total,
      dispatcher: () => this.dispatcher,
      clock,
      rng,
      maxQueuedBytes: maxQueuedBytes ?? QUEUE_BYTES,
      maxAgeMs: maxAgeMs ?? MAX_AGE_MS,
      heartbeatMs: this.heartbeatMs,
      timeoutMs: TIMEOUT_MS,
      onResult: (result) => {
        this.results[result] += 1;
      },
      onReplaced: (instance) => this.accounts.gone(instance, clock.monotonicMs()),
    });
    this.links.set(address, link);
    link.start();
  }

  /** Finds out which peers have ended, and whether one that may be receiving is not heard. */
  private look(): void {
    const { clock, log } = this.options;
    const nowMs = clock.monotonicMs();
    this.findGone(nowMs);
    const sinceMs = nowMs - SILENT_HEARTBEATS * this.heartbeatMs;
    // What a peer received before it was first heard is missing after every start: that is no news.
    const parts = this.parts(sinceMs, sinceMs).filter(({ gap }) => gap?.fromMs !== -Infinity);
    const [first] = parts;
    // Of a name without an address more is missing every time: that is no news either.
    const news = first === undefined ? undefined : `${first.peer} ${first.why} ${first.gap?.fromMs}`;
    const [problem] = missingWords(parts, clock);
    this.problem = problem;
    if (news === this.reported) return;
    if (problem !== undefined) log.warn({ problem }, "spans of other predictors are missing");
    else log.info("all other predictors are heard again");
    this.reported = news;
  }

  /** Peers that ended without a word: nothing listens where they were, or they left the name and are silent for long. */
  private findGone(nowMs: number): void {
    for (const [address, link] of this.links) {
      const instance = this.instanceBehind(link);
      const isSilent = instance === undefined || this.isSilent(instance, nowMs);
      if (link.refusedMs !== undefined && instance !== undefined && isSilent) {
        this.accounts.gone(instance, link.refusedMs);
      }
      if (link.leftMs === undefined || link.state === "reached") continue;
      const quietMs = nowMs - Math.max(link.leftMs, link.reachedMs);
      const mayReceive = link.state === "unreachable" || link.state === "new" || !isSilent;
      if (mayReceive && quietMs < this.goneAfterMs) continue;
      this.links.delete(address);
      void link.stop(false, 0);
    }
    const linked = new Set([...this.links.values()].map((link) => this.instanceBehind(link)));
    for (const instance of this.accounts.present()) {
      const heardMs = this.accounts.heardMs(instance) ?? -Infinity;
      if (!linked.has(instance) && nowMs - heardMs > this.goneAfterMs) this.accounts.gone(instance, nowMs);
    }
  }

  /** The peer that answers at the address, or that sends from it where it does not answer. */
  private instanceBehind({ address, instance }: PeerLink): string | undefined {
    if (instance !== undefined) return instance;
    const at = this.accounts.instanceAt(new URL(address).hostname.replace(/^\[(.*)\]$/, "$1"));
    return [...this.links.values()].some((link) => link.instance === at) ? undefined : at;
  }

  private isSilent(instance: string, nowMs: number): boolean {
    const heardMs = this.accounts.heardMs(instance);
    return heardMs === undefined || nowMs - heardMs > TOLERATED_HEARTBEATS * this.heartbeatMs;
  }

  private parts(fromMs: number, toMs: number): readonly MissingSpans[] {
    const sinceEndMs = this.options.clock.monotonicMs() - toMs;
    const toleranceMs = Math.max(0, TOLERATED_HEARTBEATS * this.heartbeatMs - sinceEndMs);
    const links = [...this.links.values()];
    const ofHeard = this.accounts.missing(fromMs, toMs, toleranceMs).map((part): MissingSpans => {
      const { gap, host, instance, sinceMs } = part;
      const link = links.find((each) => this.instanceBehind(each) === instance);
      const peer = `the predictor at ${link?.address ?? host ?? "an unknown address"}`;
      return gap === undefined ? { peer, sinceMs, why: whyOf(WHY_SILENT, link) } : { peer, gap };
    });
    const ofUnheard = links
      .filter((link) => link.sinceMs < toMs && this.isUnheard(link, toMs))
      .map((link): MissingSpans => {
        const peer = `the predictor at ${link.address}`;
        return { peer, sinceMs: link.refusedMs ?? link.sinceMs, why: whyOf(WHY_UNHEARD, link) };
      });
    return [...ofHeard, ...ofUnheard, ...this.unfollowed(toMs)];
  }

  /** A predictor may be receiving there, and it was never heard. */
  private isUnheard(link: PeerLink, toMs: number): boolean {
    if (link.state === "self") return false;
    const instance = this.instanceBehind(link);
    if (instance !== undefined && this.accounts.heardMs(instance) !== undefined) return false;
    if (link.refusedMs === undefined) return true;
    // Where nothing listens nothing is received, unless its name goes on to list the address: then something is in between.
    const isFixed = this.options.targets.some((target) => trimmedEnd(target, "/") === link.address);
    return !isFixed && link.leftMs === undefined && toMs - link.refusedMs > this.goneAfterMs;
  }

  /** Predictors to which there is no link at all. */
  private unfollowed(toMs: number): readonly MissingSpans[] {
    const { targets } = this.options;
    if (this.listed === 0) {
      return [{ peer: targets.join(", "), sinceMs: toMs, why: "no address of the name is known" }];
    }
    const more = this.listed - MAX_PEERS;
    if (more <= 0) return [];
    return [{ peer: `${more} more predictors`, sinceMs: toMs, why: `at most ${MAX_PEERS} are followed` }];
  }
}

function whyOf(words: Readonly<Record<LinkState, string>>, link: PeerLink | undefined): string {
  const why = words[link?.state ?? "new"];
  return link?.tlsProblem === undefined ? why : `${why}: ${link.tlsProblem}`;
}
