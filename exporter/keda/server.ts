import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import { TradewindError } from "@tradewind/core/errors.ts";
import { EXTERNAL_SCALER, scalerHandlers } from "./service.ts";
import type { ScalerSurroundings } from "./service.ts";
import { watchCalls } from "./watch-calls.ts";
import type { CallObserver } from "./watch-calls.ts";

/** Limits of the gRPC port; see docs/keda.md for what each is for. */
export interface ScalerLimits {
  /** A ScaledObject cannot be larger than etcd allows (1.5 MB), so none can make GetMetricSpec fail. */
  readonly maxRequestBytes: number;
  readonly deadlineMs: number;
  readonly maxCalls: number;
  readonly maxStreams: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly connectionAgeMs: number;
  /** After its age a connection takes no new calls, but streams on it may run to their own end. */
  readonly connectionAgeGraceMs: number;
}

const SHUTDOWN_MS = 2_000;

/** A listening KEDA external scaler. */
export interface ScalerServer {
  /** `host:port` */
  readonly address: string;
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
  edges: { readonly observer: CallObserver; readonly monotonicMs: () => number },
): Promise<ScalerServer> {
  // Its own log lines are not JSON; what matters comes back as an error or a status.
  setLogVerbosity(logVerbosity.NONE);
  const server = new Server({
    interceptors: [watchCalls(edges.observer, limits, edges.monotonicMs)],
    "grpc.max_receive_message_length": limits.maxRequestBytes,
    "grpc.max_concurrent_streams": limits.maxStreams + limits.maxCalls,
    "grpc.keepalive_time_ms": limits.keepaliveMs,
    "grpc.keepalive_timeout_ms": limits.keepaliveTimeoutMs,
    "grpc.max_connection_age_ms": limits.connectionAgeMs,
    "grpc.max_connection_age_grace_ms": limits.connectionAgeGraceMs,
    "grpc.enable_channelz": 0,
  });
  server.addService(EXTERNAL_SCALER, scalerHandlers(surroundings));
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      `${host}:${listen.port}`,
      credentials ?? ServerCredentials.createInsecure(),
      (error, bound) => (error === null ? resolve(bound) : reject(listenFailed(host, listen.port, error))),
    );
  });
  return {
    address: `${host}:${port}`,
    stop: async () => {
      surroundings.streams.endAll();
      await new Promise<void>((resolve) => {
        const force = setTimeout(() => server.forceShutdown(), SHUTDOWN_MS);
        server.tryShutdown(() => {
          clearTimeout(force);
          resolve();
        });
      });
    },
  };
}

function listenFailed(host: string, port: number, cause: Error): TradewindError {
  return new TradewindError(
    "cannot-listen",
    `cannot listen for KEDA on ${host}:${port}; is another exporter running?`,
    { cause },
  );
}
