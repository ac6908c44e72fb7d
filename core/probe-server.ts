import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isIPv6 } from "node:net";
import { limitConnections } from "./connection-limits.ts";
import type { ConnectionCounts, ConnectionLimits } from "./connection-limits.ts";
import { withinDescriptors } from "./descriptors.ts";
import { TradewindError } from "./errors.ts";

// `import … from "node:http"` evaluates every lazy export of the module, WebSocket's undici among them: 13 MB resident.
const { createServer } = process.getBuiltinModule("node:http");

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
  const server = createServer(
    {
      keepAlive: false,
      maxHeaderSize: 4_096,
      headersTimeout: REQUEST_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: 500,
    },
    (request, response) => void answer(request, response, probes),
  );
  const connections = limitConnections(server, withinDescriptors(LIMITS));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const where = `${listen.host}:${listen.port}`;
      reject(new TradewindError("cannot-listen", `cannot listen for probes on ${where}`, { cause }));
    });
    server.listen(listen.port, listen.host, () => resolve());
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `http://${isIPv6(address) ? `[${address}]` : address}:${port}`,
    counts: () => connections.counts,
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
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
