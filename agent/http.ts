import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { limitConnections } from "@tradewind/core/connection-limits.ts";
import type { ConnectionLimits } from "@tradewind/core/connection-limits.ts";
import { withinDescriptors } from "@tradewind/core/descriptors.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import type { HttpDoor } from "@tradewind/core/http-door.ts";
import type { TextFormat } from "./expose/format.ts";
import { CONTENT_TYPES, negotiate } from "./expose/format.ts";

// `import … from "node:http"` evaluates every lazy export of the module, WebSocket's undici among them: 13 MB resident.
const { createServer } = process.getBuiltinModule("node:http");

/** What the HTTP side serves; it never reads the kernel itself. */
export interface Exposed {
  metrics(format: TextFormat): Iterable<string>;
  snapshot(): Iterable<string>;
  /** Undefined when ready, else what is missing. */
  notReady(): string | undefined;
  /** Takes over the response of an event stream; false when there are too many. */
  subscribe(response: ServerResponse): boolean;
}

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
}

const REQUEST_TIMEOUT_MS = 10_000;
/** The predictors, a Prometheus and a person. */
const CONNECTIONS: ConnectionLimits = {
  maxConnections: 64,
  maxPerAddress: 24,
  firstRequestMs: REQUEST_TIMEOUT_MS,
};
const LARGEST_HEADER_BYTES = 16 * 1024;

/** Serves `/metrics`, `/v1/snapshot`, `/v1/events`, `/healthz` and `/readyz`. Only GET and HEAD; bodies are refused. */
export class HttpSide {
  readonly #server: Server;
  readonly #exposed: Exposed;
  readonly #door: HttpDoor;

  constructor(exposed: Exposed, door: HttpDoor) {
    this.#exposed = exposed;
    this.#door = door;
    this.#server = createServer(
      {
        maxHeaderSize: LARGEST_HEADER_BYTES,
        requestTimeout: REQUEST_TIMEOUT_MS,
        headersTimeout: REQUEST_TIMEOUT_MS,
        keepAliveTimeout: 75_000,
        connectionsCheckingInterval: 5_000,
      },
      (request, response) => {
        this.#answer(request, response).catch(() => response.destroy());
      },
    );
    limitConnections(this.#server, withinDescriptors(CONNECTIONS));
    this.#server.on("clientError", (_error, socket) => {
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    });
  }

  /** @returns the address it listens on @throws TradewindError `cannot-listen` */
  async listen({ host, port }: HttpOptions): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (cause) => {
        reject(
          new TradewindError(
            "cannot-listen",
            `cannot listen on ${host}:${port}; choose another with --listen`,
            {
              cause,
            },
          ),
        );
      });
      this.#server.listen(port, host, () => resolve());
    });
    const address = this.#server.address() as AddressInfo;
    const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
    return `http://${shown}:${address.port}`;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      return answerText(request, response, 405, "only GET and HEAD");
    }
    const path: string = (request.url ?? "/").replace(/\?.*$/, "");
    const { authorization, host } = request.headers;
    const refused = isProbe(path) ? undefined : this.#door.refuse({ authorization, host });
    if (refused !== undefined) {
      for (const [name, value] of Object.entries(refused.headers)) response.setHeader(name, value);
      return answerText(request, response, refused.status, refused.message);
    }
    switch (path) {
      case "/metrics": {
        const format = negotiate(request.headers.accept);
        return this.#stream(request, response, CONTENT_TYPES[format], this.#exposed.metrics(format));
      }
      case "/v1/snapshot":
        return this.#snapshot(request, response);
      case "/v1/events":
        if (!this.#exposed.subscribe(response)) {
          response.setHeader("Retry-After", "10");
          answerText(request, response, 503, "too many subscribers");
        }
        return;
      case "/healthz":
        return answerText(request, response, 200, "ok");
      case "/readyz":
        return answerText(
          request,
          response,
          this.#exposed.notReady() === undefined ? 200 : 503,
          this.#exposed.notReady() ?? "ok",
        );
      default:
        return answerText(
          request,
          response,
          404,
          "there are /metrics, /v1/snapshot, /v1/events, /healthz and /readyz",
        );
    }
  }

  /** A snapshot without the node's capacity would be no snapshot: until it is known there is none. */
  async #snapshot(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const missing = this.#exposed.notReady();
    if (missing !== undefined) return answerText(request, response, 503, missing);
    return this.#stream(request, response, "application/json", this.#exposed.snapshot());
  }

  /** Writes chunk by chunk, compressed when asked, and waits for a slow reader. */
  async #stream(
    request: IncomingMessage,
    response: ServerResponse,
    contentType: string,
    chunks: Iterable<string>,
  ): Promise<void> {
    response.setHeader("Content-Type", contentType);
    response.setHeader("Vary", "Accept, Accept-Encoding");
    const gzip = acceptsGzip(request.headers["accept-encoding"]);
    if (gzip) response.setHeader("Content-Encoding", "gzip");
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    const { Readable, promises } = process.getBuiltinModule("node:stream");
    const body = Readable.from(chunks, { objectMode: true, highWaterMark: 1 });
    try {
      if (gzip) {
        const { createGzip, constants } = process.getBuiltinModule("node:zlib");
        await promises.pipeline(body, createGzip({ level: constants.Z_BEST_SPEED, memLevel: 7 }), response);
      } else await promises.pipeline(body, response);
    } catch {
      // The reader went away, which concerns nobody else.
      response.destroy();
    }
  }
}

/** What probes ask says nothing that must be kept. */
const isProbe = (path: string): boolean => path === "/healthz" || path === "/readyz";

function acceptsGzip(header: string | string[] | undefined): boolean {
  const text = Array.isArray(header) ? header.join(",") : (header ?? "");
  return text
    .slice(0, 1000)
    .split(",")
    .map((part) => part.trim().toLowerCase().split(";"))
    .some(([coding, q]) => coding === "gzip" && q?.trim() !== "q=0");
}

function answerText(request: IncomingMessage, response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "Content-Type": "text/plain; charset=utf-8" });
  response.end(request.method === "HEAD" ? undefined : `${text}\n`);
}
