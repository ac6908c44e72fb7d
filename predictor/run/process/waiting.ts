import { closeHttp, createHttpServer, listenHttp } from "@tradewind/core/net/http-server.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { parseListen } from "../../sources/otlp/listen-address.ts";

const LIMITS = { maxConnections: 64, maxPerAddress: 32, firstRequestMs: 10_000 };

/**
 * Waits for something outside of the process, which meanwhile says on its own address that it lives (`/healthz`) and what it
 * waits for (any other path, 503). The address is free again when this resolves.
 * @throws TradewindError `cannot-listen`
 */
export async function whileWaiting<Result>(
  { listen, tls }: { readonly listen: string; readonly tls: ReloadingTls | undefined },
  whyNot: () => string,
  result: Promise<Result>,
): Promise<Result> {
  const { server } = createHttpServer({ limits: LIMITS, tls }, (request, response) => {
    const isHealth = request.url === "/healthz";
    response.writeHead(isHealth ? 200 : 503, {
      "content-type": "application/json",
      "cache-control": "no-store",
      connection: "close",
    });
    const message = `waiting: ${whyNot()}`.slice(0, 500);
    response.end(JSON.stringify(isHealth ? { ok: true } : { error: { code: "not-ready", message } }));
  });
  await listenHttp(server, parseListen(listen), "is another process there?");
  try {
    return await result;
  } finally {
    await closeHttp(server);
  }
}
