import type { IncomingMessage, ServerResponse } from "node:http";
import type { ConnectionCounts, ConnectionLimits } from "./connection-limits.ts";
import { closeHttp, createHttpServer, listenHttp } from "./http-server.ts";

/** What a kubelet may ask of a process. */
export interface Probes {
  /** Why the process must be ended; undefined while it works. */
  readonly dead: () => Promise<string | undefined> | string | undefined;
  /** Why nobody should be sent here; undefined when it is ready. */
  readonly notReady: () => string | undefined;
}

export interface ProbeServer {
  /** `http://host:port` */
  readonly address: string;
  readonly counts: () => ConnectionCounts;
  stop(): Promise<void>;
}

/** A kubelet opens one connection for each probe, and asks at once. */
const LIMITS: ConnectionLimits = { maxConnections: 32, maxPerAddress: 8, firstRequestMs: 2_000 };
const REQUEST_MS = 2_000;

/**
 * Answers `/healthz` and `/readyz` on a port of their own, so that whatever keeps other ports busy does not make a kubelet end
 * the process.
 * @throws TradewindError `cannot-listen`
 */
export async function serveProbes(
  listen: { readonly host: string; readonly port: number },
  probes: Probes,
): Promise<ProbeServer> {
  const { connections, server } = createHttpServer(
    { limits: LIMITS, requestMs: REQUEST_MS },
    (request, response) => void answer(request, response, probes),
  );
  const address = await listenHttp(server, listen, "choose another with --probe-listen");
  return { address, counts: () => connections.counts, stop: async () => closeHttp(server) };
}

async function answer(request: IncomingMessage, response: ServerResponse, probes: Probes): Promise<void> {
  const say = (status: number, text: string): void => {
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
    response.end(`${text}\n`);
  };
  if (request.url !== "/healthz" && request.url !== "/readyz")
    return say(404, "there are /healthz and /readyz");
  const problem = request.url === "/healthz" ? await probes.dead() : probes.notReady();
  say(problem === undefined ? 200 : 503, problem ?? "ok");
}
