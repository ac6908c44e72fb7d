import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { freshnessIn } from "@tradewind/core/contract/freshness.ts";
import type { Freshness } from "@tradewind/core/contract/freshness.ts";
import { ANYBODY } from "@tradewind/core/net/access-tokens.ts";
import type { ConnectionLimits } from "@tradewind/core/net/connection-limits.ts";
import type { Admission, HttpDoor } from "@tradewind/core/net/http-door.ts";
import type { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { closeHttp, createHttpServer, listenHttp } from "@tradewind/core/net/http-server.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { PROFILES, Profiler, profileSeconds } from "@tradewind/core/process/profiler.ts";
import type { ProfileKind } from "@tradewind/core/process/profiler.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { TextFormat } from "../expose/format.ts";
import { CONTENT_TYPES, negotiate } from "../expose/format.ts";

/** What the HTTP side serves; it never reads the kernel itself. */
export interface Exposed {
  metrics(format: TextFormat): Iterable<string>;
  snapshot(): Iterable<string>;
  /** A reader with a token asks for fresher figures of some pods. */
  hasten(pods: Freshness): void;
  /** Undefined when ready, else what is missing. */
  notReady(): string | undefined;
}

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
}

/** The predictors, a Prometheus and a person. */
const CONNECTIONS: ConnectionLimits = { maxConnections: 64, maxPerAddress: 24, firstRequestMs: 10_000 };

/** Serves `/metrics`, `/v1/snapshot`, `/v1/profile`, `/openapi.json`, `/healthz` and `/readyz`. Only GET and HEAD; bodies are refused. */
export class HttpSide {
  readonly #server: Server;
  readonly #exposed: Exposed;
  readonly #door: HttpDoor;
  readonly #work: SenderWork;
  readonly #profiler = new Profiler();

  /** @param tls serves TLS only */
  constructor(exposed: Exposed, door: HttpDoor, work: SenderWork, tls: ReloadingTls | undefined) {
    this.#exposed = exposed;
    this.#door = door;
    this.#work = work;
    const { server } = createHttpServer({ limits: CONNECTIONS, tls }, (request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server = server;
    server.on("clientError", (_error, socket) => {
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    });
  }

  /** @returns the address it listens on @throws TradewindError `cannot-listen` */
  async listen(listen: HttpOptions): Promise<string> {
    return listenHttp(this.#server, listen, "choose another with --listen");
  }

  async close(): Promise<void> {
    await closeHttp(this.#server);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("Allow", "GET, HEAD");
      return answerText(request, response, 405, "only GET and HEAD");
    }
    const [path = "/"] = (request.url ?? "/").split("?", 1);
    const { authorization, host } = request.headers;
    const address = request.socket.remoteAddress;
    const profile = PROFILES.find((kind) => path === `/v1/profile/${kind}`);
    const knock = { authorization, host, address };
    const admission = isProbe(path)
      ? undefined
      : this.#door.admit(knock, profile === undefined ? {} : { scope: "profile" });
    const refused =
      admission === undefined
        ? undefined
        : "refused" in admission
          ? admission.refused
          : this.#work.admit(request, response, profile !== undefined);
    if (refused !== undefined) {
      for (const [name, value] of Object.entries(refused.headers)) response.setHeader(name, value);
      return answerText(request, response, refused.status, refused.message);
    }
    if (profile !== undefined) return this.#profile(request, response, profile);
    switch (path) {
      case "/metrics": {
        const format = negotiate(request.headers.accept);
        return this.#stream(request, response, CONTENT_TYPES[format], this.#exposed.metrics(format));
      }
      case "/v1/snapshot":
        return this.#snapshot(request, response, admission);
      case "/openapi.json": {
        const { DESCRIPTION } = await import("./described.ts");
        return this.#stream(request, response, "application/json", [DESCRIPTION]);
      }
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
          "there are /metrics, /v1/snapshot, /v1/profile/cpu, /v1/profile/heap, /openapi.json, /healthz and /readyz",
        );
    }
  }

  /** A snapshot without the node's capacity would be no snapshot: until it is known there is none. */
  async #snapshot(
    request: IncomingMessage,
    response: ServerResponse,
    admission: Admission | undefined,
  ): Promise<void> {
    // Where no token is asked for, whoever asks is a stranger.
    if (admission !== undefined && "caller" in admission && admission.caller !== ANYBODY)
      this.#exposed.hasten(freshnessIn(request.url ?? ""));
    const missing = this.#exposed.notReady();
    if (missing !== undefined) return answerText(request, response, 503, missing);
    return this.#stream(request, response, "application/json", this.#exposed.snapshot());
  }

  async #profile(request: IncomingMessage, response: ServerResponse, kind: ProfileKind): Promise<void> {
    try {
      const [, query] = (request.url ?? "").split("?", 2);
      const seconds = profileSeconds(new URLSearchParams(query).get("seconds") ?? undefined);
      const profile = JSON.stringify(await this.#profiler.take(kind, seconds));
      await this.#stream(request, response, "application/json", [profile]);
    } catch (error) {
      const isBusy = error instanceof TradewindError && error.code === "busy";
      answerText(request, response, isBusy ? 409 : 400, describeError(error));
    }
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
