import { channel } from "node:diagnostics_channel";
import { constants } from "node:http2";
import type { Http2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { senderAddress } from "@tradewind/core/net/connection-limits.ts";
import type { Remote } from "@tradewind/core/net/connection-limits.ts";
import { CostMeter } from "@tradewind/core/net/cost-meter.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { Refusals } from "@tradewind/core/net/refusals.ts";

export interface GateLimits {
  /** Share of a core that one sender may keep busy. */
  readonly maxSenderWork: number;
  /** Calls that a connection may have under way at once, besides its streams. */
  readonly maxConnectionCalls: number;
}

/** Why connections are turned away. */
const REASONS = {
  work: "a sender has used up its work on the gRPC port, and no connection of it is taken for a while; raise --max-sender-work if it is yours",
  calls:
    "a connection was ended: it began more calls at once than its client was told, or more than the work of its sender; see docs/keda.md",
} as const;
export type GateCounts = Readonly<Record<keyof typeof REASONS, number>>;

interface Connection {
  readonly sender: string;
  /** Names the connection in the meter. */
  readonly key: string;
  session: Http2Session | undefined;
  /** Streams that KEDA keeps open. */
  streams: number;
  /** Calls at once that its client was told it may have, streams among them. */
  allowed: number;
  isTelling: boolean;
  /** Calls begun in this turn of the event loop. */
  turnCalls: number;
}

/** What a sender may use at once: a KEDA that restarts with 5,000 ScaledObjects makes some 20,000 calls, which is 4 s. */
const BURST_SECONDS = 10;
/** What taking and answering a call costs, measured: 0.1 to 0.3 ms. */
const CALL_SECONDS = 2e-4;
const CONNECTION_SECONDS = 1e-3;
/** A client that waits for answers begins one set of calls in a turn; one that resets each at once begins thousands. */
const SETS_PER_TURN = 4;
/** A client that does not keep to what it was told does so on purpose, or is broken. */
const BREACH_SECONDS = 1;
/** By so much a connection must itself be ahead of its part before it is ended for what its sender uses. */
const OWN_BURST_SECONDS = 1;
/** All HTTP/2 servers of a thread say here that a stream begins, before anybody reads anything of it. */
const STREAMS = channel("http2.server.stream.created");

/**
 * Stands before the gRPC port. A connection may have a few calls under way, and one more for each stream that KEDA keeps open: its client
 * is told so by SETTINGS, and HTTP/2 itself refuses what is beyond, which costs no call. So KEDA may hold thousands of streams and opens them at
 * the speed of the answers, while one that floods is ended after a few calls. What connections and calls cost is charged to their sender;
 * beyond its share no connection of it is taken.
 */
export class CallGate {
  readonly #limits: GateLimits;
  readonly #monotonicMs: () => number;
  readonly #refusals: Refusals<keyof typeof REASONS>;
  readonly #meter: CostMeter;
  readonly #connections = new Map<string, Connection>();
  readonly #bySession = new WeakMap<Http2Session, Connection>();
  readonly #ofSender = new Map<string, number>();
  readonly #onStream = (message: unknown): void =>
    this.#begin((message as { stream: ServerHttp2Stream }).stream);

  constructor(limits: GateLimits, monotonicMs: () => number, log: Logger) {
    this.#limits = limits;
    this.#monotonicMs = monotonicMs;
    this.#refusals = new Refusals(REASONS, log, monotonicMs);
    this.#meter = new CostMeter({ share: limits.maxSenderWork, burstSeconds: BURST_SECONDS });
    STREAMS.subscribe(this.#onStream);
  }

  get counts(): GateCounts {
    return this.#refusals.counts;
  }

  close(): void {
    STREAMS.unsubscribe(this.#onStream);
  }

  /** Takes a connection, or closes it. @returns whether it was taken */
  admit(socket: Socket): boolean {
    const sender = senderAddress(socket.remoteAddress);
    const nowMs = this.#monotonicMs();
    if (this.#meter.waitSeconds(sender, nowMs) !== undefined) {
      this.#refusals.add("work", sender);
      socket.destroy();
      return false;
    }
    this.#meter.charge(sender, CONNECTION_SECONDS, nowMs);
    const key = connectionKey(socket);
    const allowed = this.#limits.maxConnectionCalls;
    const connection: Connection = {
      sender,
      key,
      session: undefined,
      streams: 0,
      allowed,
      isTelling: false,
      turnCalls: 0,
    };
    this.#connections.set(key, connection);
    this.#ofSender.set(sender, (this.#ofSender.get(sender) ?? 0) + 1);
    socket.once("close", () => this.#forget(connection));
    return true;
  }

  /** KEDA opens a stream on a connection, or a stream on it ends. */
  changeStreams(remote: Remote, by: 1 | -1): void {
    const connection = this.#connections.get(connectionKey(remote));
    if (connection === undefined) return;
    connection.streams += by;
    this.#tell(connection);
  }

  #begin({ session }: ServerHttp2Stream): void {
    const connection = session && this.#connectionOf(session);
    if (session === undefined || connection === undefined) return;
    connection.turnCalls += 1;
    if (connection.turnCalls === 1) setImmediate(() => this.#endTurn(session, connection));
    if (connection.turnCalls <= SETS_PER_TURN * connection.allowed) return;
    this.#breach(connection.sender);
    calmDown(session);
  }

  /** Charges what was begun in a turn of the event loop: to do it for each call would cost as much as its answer. */
  #endTurn(session: Http2Session, connection: Connection): void {
    const { key, sender, turnCalls } = connection;
    connection.turnCalls = 0;
    const nowMs = this.#monotonicMs();
    const seconds = CALL_SECONDS * turnCalls;
    this.#meter.charge(sender, seconds, nowMs);
    // What is fair among the connections of one address: behind it may be several clients.
    this.#meter.charge(key, seconds * (this.#ofSender.get(sender) ?? 1), nowMs);
    if (session.destroyed || this.#meter.waitSeconds(sender, nowMs) === undefined) return;
    if (this.#meter.aheadSeconds(key, nowMs) < OWN_BURST_SECONDS) return;
    this.#refusals.add("calls", sender);
    calmDown(session);
  }

  #connectionOf(session: Http2Session): Connection | undefined {
    const known = this.#bySession.get(session);
    // One that has ended has no socket to ask.
    if (known !== undefined || session.destroyed) return known;
    const connection = this.#connections.get(connectionKey(session.socket));
    if (connection === undefined) return undefined;
    connection.session = session;
    this.#bySession.set(session, connection);
    session.once("error", ({ code }: NodeJS.ErrnoException) => {
      if (code?.startsWith("ERR_HTTP2_") === true) this.#breach(connection.sender);
    });
    return connection;
  }

  /** The client has not kept to what it was told. */
  #breach(sender: string): void {
    this.#meter.charge(sender, BREACH_SECONDS, this.#monotonicMs());
    this.#refusals.add("calls", sender);
  }

  /** Keeps what a client may have at once half of its calls above its streams at least. One message is under way at a time. */
  #tell(connection: Connection): void {
    const { allowed, isTelling, session, streams } = connection;
    const { maxConnectionCalls } = this.#limits;
    const free = allowed - streams;
    if (isTelling || session === undefined || session.destroyed) return;
    if (free > maxConnectionCalls / 2 && free <= 2 * maxConnectionCalls) return;
    connection.allowed = streams + maxConnectionCalls;
    connection.isTelling = true;
    session.settings({ maxConcurrentStreams: connection.allowed }, () => {
      connection.isTelling = false;
      this.#tell(connection);
    });
  }

  #forget({ key, sender }: Connection): void {
    this.#connections.delete(key);
    const others = (this.#ofSender.get(sender) ?? 1) - 1;
    if (others > 0) this.#ofSender.set(sender, others);
    else this.#ofSender.delete(sender);
  }
}

function calmDown(session: Http2Session): void {
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.destroy();
}

const connectionKey = ({
  localPort,
  remoteAddress,
  remotePort,
}: Remote & { readonly localPort?: number | undefined }): string =>
  `${senderAddress(remoteAddress)} ${remotePort ?? 0} ${localPort ?? 0}`;
