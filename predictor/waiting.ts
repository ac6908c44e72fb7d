import { createServer } from "node:http";
import { TradewindError } from "@tradewind/core/errors.ts";
import { parseListen } from "./sources/otlp/listen-address.ts";

/**
 * Waits for something outside of the process, which meanwhile says on its own address that it lives (`/healthz`) and what it
 * waits for (any other path, 503). The address is free again when this resolves.
 * @throws TradewindError `cannot-listen`
 */
export async function whileWaiting<Result>(
  listen: string,
  whyNot: () => string,
  result: Promise<Result>,
): Promise<Result> {
  const server = createServer((request, response) => {
    const isHealth = request.url === "/healthz";
    response.writeHead(isHealth ? 200 : 503, {
      "content-type": "application/json",
      "cache-control": "no-store",
      connection: "close",
    });
    const message = `waiting: ${whyNot()}`.slice(0, 500);
    response.end(JSON.stringify(isHealth ? { ok: true } : { error: { code: "not-ready", message } }));
  });
  server.requestTimeout = 10_000;
  server.maxConnections = 64;
  const { host, port } = parseListen(listen);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new TradewindError("cannot-listen", `cannot listen on ${listen}; is another process there?`, {
          cause: error,
        }),
      ),
    );
    server.listen({ host, port }, resolve);
  });
  try {
    return await result;
  } finally {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  }
}
