import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { FairPlaces } from "./fair-places.ts";
import type { Place, PlaceCounts } from "./fair-places.ts";

/** How many connections a port holds, and how long one may be silent. */
export interface ConnectionLimits {
  /** Connections held at once, from all addresses together. */
  readonly maxConnections: number;
  /**
   * Connections held at once from one remote address; less than `maxConnections`, so that one sender cannot take them
   * all. Behind a proxy or a mesh many senders share one address.
   */
  readonly maxPerAddress: number;
  /** A connection whose first request does not begin within this is ended. ms */
  readonly firstRequestMs: number;
}

/** What the limits of a port have done since it was opened. */
export interface ConnectionCounts extends PlaceCounts {
  /** Connections closed because their first request never began. */
  readonly silent: number;
}

/** One end of a connection, as sockets and calls name their sender. */
export interface Remote {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

interface Connection {
  readonly socket: Socket;
  readonly place: Place;
  /** Monotonic ms. */
  readonly openedMs: number;
  /** Requests in progress. */
  requests: number;
  hasBegun: boolean;
  /** A request on it has ended. */
  readonly end: () => void;
}

const MAX_SWEEP_MS = 1_000;
/** The end of a request on a connection that was closed before. */
const NOT_HELD = (): void => undefined;

/**
 * Shares the connections of a port fairly among remote addresses, as {@link FairPlaces} does. A connection without a request
 * in progress is idle. One that has no place is closed.
 */
export class Connections {
  private readonly limits: ConnectionLimits;
  private readonly monotonicMs: () => number;
  private readonly places: FairPlaces;
  private readonly byKey = new Map<string, Connection>();
  private readonly sweep: NodeJS.Timeout;
  private silent = 0;

  constructor(limits: ConnectionLimits, monotonicMs: () => number = () => performance.now()) {
    const { firstRequestMs, maxConnections: maxPlaces, maxPerAddress: maxPerSender } = limits;
    this.limits = limits;
    this.monotonicMs = monotonicMs;
    this.places = new FairPlaces({ maxPlaces, maxPerSender });
    this.sweep = setInterval(() => this.endSilent(), Math.min(MAX_SWEEP_MS, firstRequestMs)).unref();
  }

  get counts(): ConnectionCounts {
    return { ...this.places.counts, silent: this.silent };
  }

  /** Takes a new connection, or closes it. @returns whether it was taken */
  admit(socket: Socket): boolean {
    const { remoteAddress } = socket;
    const key = keyOf(socket);
    const place =
      // Without an address it is closed already.
      remoteAddress === undefined
        ? undefined
        : this.places.take(senderAddress(remoteAddress), () => socket.destroy());
    if (place === undefined) {
      socket.destroy();
      return false;
    }
    const connection: Connection = {
      socket,
      place,
      openedMs: this.monotonicMs(),
      requests: 0,
      hasBegun: false,
      end: () => {
        connection.requests -= 1;
        if (connection.requests <= 0) place.idle();
      },
    };
    this.byKey.set(key, connection);
    socket.once("close", () => {
      place.free();
      if (this.byKey.get(key) === connection) this.byKey.delete(key);
    });
    return true;
  }

  /** A request begins on the connection of this sender. @returns what to call once it has ended */
  begin(remote: Remote): () => void {
    const connection = this.byKey.get(keyOf(remote));
    if (connection === undefined) return NOT_HELD;
    connection.requests += 1;
    connection.hasBegun = true;
    connection.place.busy();
    return connection.end;
  }

  /** Closes every connection. */
  destroyAll(): void {
    clearInterval(this.sweep);
    for (const { socket } of this.byKey.values()) socket.destroy();
  }

  private endSilent(): void {
    const openedBeforeMs = this.monotonicMs() - this.limits.firstRequestMs;
    for (const { hasBegun, openedMs, place, socket } of this.byKey.values()) {
      if (hasBegun || openedMs > openedBeforeMs || socket.destroyed) continue;
      this.silent += 1;
      place.free();
      socket.destroy();
    }
  }
}

/** A sender's address, the same for IPv4 and its form within IPv6 (`::ffff:10.0.0.1`). */
export function senderAddress(remoteAddress: string | undefined): string {
  if (remoteAddress === undefined) return "";
  return remoteAddress.startsWith("::ffff:") ? remoteAddress.replace(/^::ffff:(\d+\.)/, "$1") : remoteAddress;
}

const keyOf = ({ remoteAddress, remotePort }: Remote): string =>
  `${senderAddress(remoteAddress)} ${remotePort ?? 0}`;

/** Applies limits to the connections of an HTTP/1 server, with or without TLS, until it is closed. */
export function limitConnections(server: HttpServer, limits: ConnectionLimits): Connections {
  const connections = new Connections(limits);
  server.on("connection", (socket: Socket) => connections.admit(socket));
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const { remoteAddress, remotePort } = socket;
    response.once("close", connections.begin({ remoteAddress, remotePort }));
  });
  server.once("close", () => connections.destroyAll());
  return connections;
}

/** A listening port whose connections are handed to somebody else, for example to gRPC. */
export interface LimitedPort {
  readonly port: number;
  readonly connections: Connections;
  /** Stops listening; the connections stay. */
  close(): void;
}

/**
 * Listens, and hands on the connections within the limits. The owner reports the requests on them by
 * {@link Connections.begin} and {@link Connections.end}.
 * @throws the error of `listen`
 */
export async function listenLimited(
  listen: { readonly host: string; readonly port: number },
  limits: ConnectionLimits,
  onConnection: (socket: Socket) => void,
): Promise<LimitedPort> {
  const connections = new Connections(limits);
  const server = createServer({ allowHalfOpen: false, noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    if (connections.admit(socket)) onConnection(socket);
  });
  await listening(server, listen);
  const { port } = server.address() as AddressInfo;
  return { port, connections, close: () => void server.close() };
}

async function listening(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      server.on("error", () => undefined);
      resolve();
    });
  });
}
