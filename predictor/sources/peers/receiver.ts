import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { senderAddress } from "@tradewind/core/net/connection-limits.ts";
import { CostMeter } from "@tradewind/core/net/cost-meter.ts";
import { addressOf, closeHttp, listenHttp, plainOrSecure } from "@tradewind/core/net/http-server.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { parseListen } from "../otlp/listen-address.ts";
import { ENVELOPE_HEADER, hashOf, PeerMessage, seal, unseal } from "./envelope.ts";
import type { PeerAnswer } from "./envelope.ts";
import { PEER_PATH } from "./link.ts";

export interface PeerReceiverOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly instance: string;
  readonly secret: () => Uint8Array;
  /** Speaks TLS only, with these certificates; absent: plain HTTP. */
  readonly tls?: ReloadingTls | undefined;
  /** Called with every message of a peer that is meant for this process, once its body has come whole. */
  readonly onMessage: (message: PeerMessage, body: Uint8Array, host: string) => Promise<PeerAnswer["result"]>;
  /** What the policies remember, for a peer that has just started; undefined where that is nothing. */
  readonly state: () => string | undefined;
  /** Whether a message came before: whoever captured one can send it again. */
  readonly isRepeated: (message: PeerMessage) => boolean;
  /** Called for each of these. Its body is not read. */
  readonly onRepeated: () => void;
  /** Called for every request that does not prove that its sender knows the secret. */
  readonly onStranger: () => void;
  readonly monotonicMs: () => number;
}

export interface PeerReceiver {
  /** `http://host:port`, `https://…` with TLS. */
  readonly address: string;
  stop(): Promise<void>;
}

/** A decompressed body of the OTLP receivers is no larger. */
const MAX_BODY_BYTES = 16 * 2 ** 20;
/** Bodies received at once; each peer sends one after the other. */
const MAX_BODIES = 16;
/** Connections that have not proved anything; of more the oldest is closed. */
const MAX_STRANGERS = 32;
const MAX_CONNECTIONS = 128;
/** What requests that bring nothing new may cost: a twentieth of a core, half a second of it at once. Batches of peers are not charged. */
const COST_LIMITS = { share: 0.05, burstSeconds: 0.5 };
/** Of a request that is refused, with its connection, which ends; and of putting together what the policies remember. */
const REFUSAL_SECONDS = 1e-3;
const STATE_SECONDS = 0.02;
const MAX_HEADER_BYTES = 8_192;
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const STATUS: Readonly<Record<PeerAnswer["result"], number>> = {
  taken: 200,
  unreadable: 400,
  other: 409,
  busy: 503,
};

/**
 * Listens for peers: `POST /v1/peer`. A request without a valid envelope changes nothing, its body is not read, and its answer
 * says nothing about this process.
 * @throws TradewindError `cannot-listen`
 */
export async function startPeerReceiver(options: PeerReceiverOptions): Promise<PeerReceiver> {
  const settings = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
  };
  const bodies = { active: 0 };
  const meter = new CostMeter(COST_LIMITS);
  const server = plainOrSecure(settings, options.tls, (request, response) => {
    receive(request, response, { ...options, bodies, meter, proved }).catch(() => request.socket.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  const proved = watchStrangers(server);
  await listenHttp(server, parseListen(options.listen), "see --peers-listen");
  return { address: addressOf(server), stop: async () => closeHttp(server) };
}

/** Keeps the number of connections small that have proved nothing. @returns what to call with one that has */
function watchStrangers(server: Server): (socket: Socket) => void {
  // By the other end's address: the socket of a request over TLS is not the one that was connected.
  const strangers = new Map<string, Socket>();
  server.on("connection", (socket) => {
    const end = otherEnd(socket);
    strangers.set(end, socket);
    socket.once("close", () => {
      if (strangers.get(end) === socket) strangers.delete(end);
    });
    const [oldest] = strangers.values();
    if (strangers.size > MAX_STRANGERS) oldest?.destroy();
  });
  return (socket) => strangers.delete(otherEnd(socket));
}

const otherEnd = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress ?? ""} ${remotePort ?? 0}`;

interface Reception extends PeerReceiverOptions {
  readonly bodies: { active: number };
  /** By address. */
  readonly meter: CostMeter;
  readonly proved: (socket: Socket) => void;
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  reception: Reception,
): Promise<void> {
  const { bodies, instance, onMessage, onStranger, proved, secret, state } = reception;
  const isCall = request.method === "POST" && request.url === PEER_PATH;
  const message = isCall ? unseal(secret(), request.headers[ENVELOPE_HEADER], PeerMessage) : undefined;
  if (message === undefined) {
    onStranger();
    if (isWithin(REFUSAL_SECONDS, request, reception)) refuse(response, isCall ? 401 : 404);
    else request.socket.destroy();
    return;
  }
  proved(request.socket);
  const answer = (result: PeerAnswer["result"], said?: Uint8Array): void => {
    const { epoch, from: to, turn } = message;
    const bodyHash = said && hashOf(said);
    const words = { kind: "answer" as const, from: instance, to, epoch, turn, result };
    const envelope = seal(secret(), { ...words, ...(bodyHash !== undefined && { bodyHash }) });
    const length = said?.byteLength ?? 0;
    response.writeHead(STATUS[result], { [ENVELOPE_HEADER]: envelope, "content-length": length }).end(said);
  };
  const unread = unreadAnswer(message, request, reception);
  if (unread === "none") {
    request.socket.destroy();
    return;
  }
  if (unread !== undefined) {
    // Nothing of a body that brings nothing new is read: the connection ends with the answer.
    if (unread === "busy") request.resume();
    else response.setHeader("connection", "close");
    answer(unread);
    return;
  }
  bodies.active += 1;
  const body = await readBody(request).finally(() => {
    bodies.active -= 1;
  });
  if (body === undefined || hashOf(body) !== message.bodyHash) {
    onStranger();
    refuse(response, 401);
  } else if (message.kind === "state") {
    const said = Buffer.from(state() ?? "");
    answer("taken", said.byteLength > MAX_BODY_BYTES ? undefined : said);
  } else if (message.kind === "hello") {
    answer("taken");
  } else {
    answer(await onMessage(message, body, hostOf(request.socket)));
  }
}

/** How a message is answered without its body; `none`: its connection is ended; undefined where the body is to be read. */
function unreadAnswer(
  message: PeerMessage,
  request: IncomingMessage,
  reception: Reception,
): PeerAnswer["result"] | "none" | undefined {
  const { bodies, instance, isRepeated, onRepeated } = reception;
  const isForOther = message.to !== undefined && message.to !== instance;
  const isCopy = message.to === instance && isRepeated(message);
  if (isCopy) onRepeated();
  if (isForOther || isCopy) {
    if (!isWithin(REFUSAL_SECONDS, request, reception)) return "none";
    return isForOther ? "other" : "taken";
  }
  const isBusy = bodies.active >= MAX_BODIES;
  return isBusy || (message.kind === "state" && !isWithin(STATE_SECONDS, request, reception))
    ? "busy"
    : undefined;
}

/** Charges the sender. @returns whether it is within what it may cost */
function isWithin(seconds: number, { socket }: IncomingMessage, { meter, monotonicMs }: Reception): boolean {
  const sender = senderAddress(socket.remoteAddress);
  const isEarly = meter.waitSeconds(sender, monotonicMs()) === undefined;
  meter.charge(sender, seconds, monotonicMs());
  return isEarly;
}

/** An answer that tells nothing, on a connection that is then closed. */
function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: "close", "content-length": 0 }).end();
}

/** Undefined when it is larger than a peer's may be. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let held = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    held += chunk.length;
    if (held > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** An IPv4 address as such, also on a socket of both families. */
function hostOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress.replace(/^::ffff:/, "");
}
