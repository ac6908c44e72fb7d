import type { RequestListener, Server, ServerOptions } from "node:http";
import { isIPv6 } from "node:net";
import type { AddressInfo } from "node:net";
import { limitConnections } from "./connection-limits.ts";
import type { ConnectionLimits, Connections } from "./connection-limits.ts";
import { withinDescriptors } from "./descriptors.ts";
import { TradewindError } from "../values/errors.ts";
import type { ReloadingTls } from "./reloading-tls.ts";

// `import … from "node:http"` evaluates every lazy export of the module, WebSocket's undici among them: 13 MB resident.
const { createServer } = process.getBuiltinModule("node:http");

export interface HttpServerOptions {
  readonly limits: ConnectionLimits;
  /** Speaks TLS only, with these certificates. */
  readonly tls?: ReloadingTls | undefined;
  /** From the first byte of a request to its last; default: 10 s. ms */
  readonly requestMs?: number;
  /** Longest silence in the middle of a request or of its answer; default: none, as event streams need it. ms */
  readonly idleMs?: number;
}

/** An HTTP/1 server that does not listen yet. */
export interface HttpServer {
  /** A TLS server has all that this type promises. */
  readonly server: Server;
  readonly connections: Connections;
}

const REQUEST_MS = 10_000;
/** Longer than clients and proxies keep a connection that they may use again: they end it first. */
const KEEP_ALIVE_MS = 75_000;
const LONGEST_CHECK_MS = 2_000;
const MAX_HEADER_BYTES = 16 * 1024;

/** Every port of Tradewind that speaks HTTP/1 is made here: deadlines, limits of connections, and TLS where it is asked for. */
export function createHttpServer(options: HttpServerOptions, handler: RequestListener): HttpServer {
  const { idleMs = 0, limits, requestMs = REQUEST_MS, tls } = options;
  const settings = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(LONGEST_CHECK_MS, requestMs / 4),
  };
  const server = plainOrSecure(settings, tls, handler);
  server.setTimeout(idleMs);
  return { server, connections: limitConnections(server, withinDescriptors(limits)) };
}

/** How many there are. Node.js leaves out all but the first of `headers`, and a proxy before it may have judged another one (RFC 9112, 3.2). */
function hostsOf(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === "host") count += 1;
  return count;
}

/** A server that speaks TLS where certificates are given, always with the newest. Without limits of connections. */
export function plainOrSecure(
  settings: ServerOptions,
  tls: ReloadingTls | undefined,
  handler: RequestListener,
): Server {
  const checked: RequestListener = (request, response) => {
    if (hostsOf(request.rawHeaders) <= 1) return handler(request, response);
    response.writeHead(400, { connection: "close" }).end("a request has one Host\n");
    return undefined;
  };
  if (tls === undefined) return createServer(settings, checked);
  const https = process.getBuiltinModule("node:https");
  const server = https.createServer({ ...settings, ...tls.serverSettings }, checked);
  // Before Node's own listener, which would have an answer written to a connection that cannot carry one.
  server.prependListener("tlsClientError", (_error, socket) => socket.destroy());
  tls.onChange((context) => server.setSecureContext(context));
  return server;
}

/** @returns the address it listens on @throws TradewindError `cannot-listen`; `hint` says what to do */
export async function listenHttp(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  hint: string,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(cannotListen({ host, port }, hint, cause)));
    server.listen(port, host, () => resolve());
  });
  return addressOf(server);
}

/** @param hint what to do, or what is usually wrong */
export function cannotListen(
  { host, port }: { readonly host: string; readonly port: number },
  hint: string,
  cause: unknown,
): TradewindError {
  return new TradewindError("cannot-listen", `cannot listen on ${hostPort(host, port)}; ${hint}`, { cause });
}

/** `http://host:port`, `https://…` with TLS, of a server that listens. */
export function addressOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${"setSecureContext" in server ? "https" : "http"}://${hostPort(address, port)}`;
}

/** Stops listening and ends every connection. */
export async function closeHttp(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

const hostPort = (host: string, port: number): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`;
