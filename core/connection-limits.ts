import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";

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
export interface ConnectionCounts {
  readonly held: number;
  /** New connections that were closed at once: none that was held could make way. */
  readonly refused: number;
  /** Connections that were closed to make way for a new one. */
  readonly evicted: number;
  /** Connections closed because their first request never began. */
  readonly silent: number;
}

/** One end of a connection, as sockets and calls name their sender. */
export interface Remote {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

interface Connection {
  readonly key: string;
  readonly address: string;
  readonly socket: Socket;
  /** Requests in progress. */
  requests: number;
  hasBegun: boolean;
  /** When it was opened or its last request ended, monotonic ms. */
  idleSinceMs: number;
}

const MAX_SWEEP_MS = 1_000;

/**
 * Shares the connections of a port fairly among remote addresses. A connection without a request in progress is idle. At
 * `maxPerAddress` a new connection takes the place of the longest idle one of the same address. At `maxConnections` the
 * address that holds the most gives one up: the longest idle, or else the oldest. So an address that holds less than its
 * share is always served, whatever the others do; a connection that cannot take a place is refused.
 */
export class Connections {
  private readonly limits: ConnectionLimits;
  private readonly monotonicMs: () => number;
  private readonly byKey = new Map<string, Connection>();
  /** Oldest first. */
  private readonly byAddress = new Map<string, Set<Connection>>();
  private readonly sweep: NodeJS.Timeout;
  private refused = 0;
  private evicted = 0;
  private silent = 0;

  constructor(limits: ConnectionLimits, monotonicMs: () => number = () => performance.now()) {
    this.limits = limits;
    this.monotonicMs = monotonicMs;
    this.sweep = setInterval(() => this.endSilent(), Math.min(MAX_SWEEP_MS, limits.firstRequestMs)).unref();
  }

  get counts(): ConnectionCounts {
    const { evicted, refused, silent } = this;
    return { held: this.byKey.size, refused, evicted, silent };
  }

  /** Takes a new connection, or closes it. @returns whether it was taken */
  admit(socket: Socket): boolean {
    const address = senderAddress(socket.remoteAddress);
    // Without an address it is closed already.
    if (socket.remoteAddress === undefined || !this.makeWay(address)) {
      this.refused += 1;
      socket.destroy();
      return false;
    }
    const connection: Connection = {
      key: keyOf(socket),
      address,
      socket,
      requests: 0,
      hasBegun: false,
      idleSinceMs: this.monotonicMs(),
    };
    this.byKey.set(connection.key, connection);
    const held = this.byAddress.get(address) ?? new Set();
    this.byAddress.set(address, held.add(connection));
    socket.once("close", () => this.forget(connection));
    return true;
  }

  /** A request begins on the connection of this sender. */
  begin(remote: Remote): void {
    const connection = this.byKey.get(keyOf(remote));
    if (connection === undefined) return;
    connection.requests += 1;
    connection.hasBegun = true;
  }

  /** A request has ended on the connection of this sender; call it once for every `begin`. */
  end(remote: Remote): void {
    const connection = this.byKey.get(keyOf(remote));
    if (connection === undefined) return;
    connection.requests = Math.max(0, connection.requests - 1);
    connection.idleSinceMs = this.monotonicMs();
  }

  /** Closes every connection. */
  destroyAll(): void {
    clearInterval(this.sweep);
    for (const connection of this.byKey.values()) this.close(connection);
  }

  /** @returns whether there is a place for one more connection of the address */
  private makeWay(address: string): boolean {
    const own = this.byAddress.get(address);
    if ((own?.size ?? 0) >= this.limits.maxPerAddress) return this.evict(longestIdle(own ?? []));
    if (this.byKey.size < this.limits.maxConnections) return true;
    const [most] = [...this.byAddress.values()].sort((a, b) => b.size - a.size);
    const isGreedy = (most?.size ?? 0) > (own?.size ?? 0) + 1;
    if (!isGreedy) return this.evict(longestIdle(this.byKey.values()));
    return this.evict(longestIdle(most ?? []) ?? most?.values().next().value);
  }

  private evict(connection: Connection | undefined): boolean {
    if (connection === undefined) return false;
    this.evicted += 1;
    this.close(connection);
    return true;
  }

  private endSilent(): void {
    const openedBeforeMs = this.monotonicMs() - this.limits.firstRequestMs;
    for (const connection of this.byKey.values()) {
      if (connection.hasBegun || connection.idleSinceMs > openedBeforeMs) continue;
      this.silent += 1;
      this.close(connection);
    }
  }

  /** Its place is free at once: the socket says only later that it is closed. */
  private close(connection: Connection): void {
    this.forget(connection);
    connection.socket.destroy();
  }

  private forget(connection: Connection): void {
    if (this.byKey.get(connection.key) === connection) this.byKey.delete(connection.key);
    const held = this.byAddress.get(connection.address);
    held?.delete(connection);
    if (held?.size === 0) this.byAddress.delete(connection.address);
  }
}

function longestIdle(connections: Iterable<Connection>): Connection | undefined {
  let longest: Connection | undefined;
  for (const connection of connections) {
    if (connection.requests > 0) continue;
    if (longest === undefined || connection.idleSinceMs < longest.idleSinceMs) longest = connection;
  }
  return longest;
}

/** A sender's address, the same for IPv4 and its form within IPv6 (`::ffff:10.0.0.1`). */
export function senderAddress(remoteAddress: string | undefined): string {
  return (remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}

const keyOf = ({ remoteAddress, remotePort }: Remote): string =>
  `${senderAddress(remoteAddress)} ${remotePort ?? 0}`;

/** Applies limits to the connections of an HTTP/1 server, with or without TLS, until it is closed. */
export function limitConnections(server: HttpServer, limits: ConnectionLimits): Connections {
  const connections = new Connections(limits);
  server.on("connection", (socket: Socket) => connections.admit(socket));
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const { remoteAddress, remotePort } = socket;
    connections.begin({ remoteAddress, remotePort });
    response.once("close", () => connections.end({ remoteAddress, remotePort }));
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
