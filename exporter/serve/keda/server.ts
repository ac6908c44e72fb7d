import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import { listenLimited } from "@tradewind/core/net/connection-limits.ts";
import type { ConnectionCounts, LimitedPort } from "@tradewind/core/net/connection-limits.ts";
import { withinDescriptors } from "@tradewind/core/net/descriptors.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { CallGate } from "./call-gate.ts";
import type { GateCounts, GateLimits } from "./call-gate.ts";
import { EXTERNAL_SCALER, scalerHandlers } from "./service.ts";
import type { ScalerSurroundings } from "./service.ts";
import { watchCalls } from "./watch-calls.ts";
import type { CallObserver } from "./watch-calls.ts";

/** Limits of the gRPC port; see docs/keda.md for what each is for. */
export interface ScalerLimits extends GateLimits {
  /** A ScaledObject cannot be larger than etcd allows (1.5 MB), so none can make GetMetricSpec fail. */
  readonly maxRequestBytes: number;
  readonly deadlineMs: number;
  readonly maxCalls: number;
  /** Headers of unary calls in progress, all together; beyond it the oldest calls are ended. */
  readonly maxHeldBytes: number;
  /** KEDA's operator needs one connection for each scaler address. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** A connection that has not sent the beginning of HTTP/2, or of TLS, within this is ended. */
  readonly handshakeMs: number;
  readonly maxStreams: number;
  readonly maxStreamsPerAddress: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly connectionAgeMs: number;
  /** After its age a connection takes no new calls, but streams on it may run to their own end. */
  readonly connectionAgeGraceMs: number;
}

const SHUTDOWN_MS = 2_000;
/** While it stops, whether the last connection has ended is looked up so often. */
const LOOK_MS = 10;
/** HTTP/2 begins with 24 bytes and a frame of settings of 9 or more; a TLS greeting is longer. */
const LEAST_GREETING_BYTES = 33;

/** A listening KEDA external scaler. */
export interface ScalerServer {
  /** `host:port` */
  readonly address: string;
  connections(): ConnectionCounts;
  refused(): GateCounts;
  stop(): Promise<void>;
}

/**
 * Serves the external scaler.
 * @throws TradewindError `cannot-listen` naming the address
 */
export async function serveScaler(
  listen: { host: string; port: number },
  credentials: ServerCredentials | undefined,
  surroundings: ScalerSurroundings,
  limits: ScalerLimits,
  edges: { readonly observer: CallObserver; readonly monotonicMs: () => number; readonly log: Logger },
): Promise<ScalerServer> {
  // Its own log lines are not JSON; what matters comes back as an error or a status.
  setLogVerbosity(logVerbosity.NONE);
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  const held: { port?: LimitedPort } = {};
  const { log, monotonicMs, observer } = edges;
  const gate = new CallGate(limits, monotonicMs, log);
  const server = new Server({
    interceptors: [
      watchCalls(limits, { observer, monotonicMs, gate, connections: () => held.port?.connections }),
    ],
    "grpc.max_receive_message_length": limits.maxRequestBytes,
    "grpc.max_concurrent_streams": limits.maxConnectionCalls,
    "grpc.keepalive_time_ms": limits.keepaliveMs,
    "grpc.keepalive_timeout_ms": limits.keepaliveTimeoutMs,
    "grpc.max_connection_age_ms": limits.connectionAgeMs,
    "grpc.max_connection_age_grace_ms": limits.connectionAgeGraceMs,
    "grpc.enable_channelz": 0,
  });
  server.addService(EXTERNAL_SCALER, scalerHandlers(surroundings));
  const http2 = server.createConnectionInjector(credentials ?? ServerCredentials.createInsecure());
  const port = await listenLimited(listen, connectionLimits(limits), (socket) => {
    if (!gate.admit(socket)) return;
    endWithoutGreeting(socket, limits.handshakeMs);
    http2.injectConnection(socket);
  }).catch((error: unknown) => {
    gate.close();
    server.forceShutdown();
    throw listenFailed(host, listen.port, error);
  });
  held.port = port;
  return {
    address: `${host}:${port.port}`,
    connections: () => port.connections.counts,
    refused: () => gate.counts,
    stop: async () => {
      port.close();
      surroundings.streams.endAll();
      // A connection that was handed on is none of the server's own: it would not wait for its last answers.
      http2.drain(SHUTDOWN_MS);
      const giveUpMs = monotonicMs() + SHUTDOWN_MS;
      while (port.connections.counts.held > 0 && monotonicMs() < giveUpMs) await delay(LOOK_MS);
      server.forceShutdown();
      port.connections.destroyAll();
      gate.close();
    },
  };
}

/** KEDA's connections are idle between its polls, however long: only their number, and the age of each, is limited. */
function connectionLimits({ maxConnections, maxConnectionsPerAddress }: ScalerLimits) {
  return withinDescriptors({
    maxConnections,
    maxPerAddress: maxConnectionsPerAddress,
    firstRequestMs: Number.POSITIVE_INFINITY,
  });
}

function endWithoutGreeting(socket: Socket, handshakeMs: number): void {
  const timer = setTimeout(() => {
    if (socket.bytesRead < LEAST_GREETING_BYTES) socket.destroy();
  }, handshakeMs).unref();
  socket.once("close", () => clearTimeout(timer));
}

function listenFailed(host: string, port: number, cause: unknown): TradewindError {
  return new TradewindError(
    "cannot-listen",
    `cannot listen for KEDA on ${host}:${port}; is another scaler running?`,
    { cause },
  );
}
