import type { FastifyInstance } from "fastify";
import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import { senderAddress } from "@tradewind/core/net/connection-limits.ts";
import { FairPlaces } from "@tradewind/core/net/fair-places.ts";
import type { RecommendationHeader } from "../../decide/recommendation-list.ts";
import { BY_NAMESPACE, visibleHeader } from "./visible.ts";

export const STREAM_PATH = "/v1/stream";
/** People who look at once. Those behind one proxy share an address, and leave a fifth to others. */
const VIEWERS = { maxPlaces: 100, maxPerSender: 80 };
/** Well within the silence after which a connection ends. */
const BEAT_MS = 4_000;
const LOOK_MS = 500;
/** A viewer that reads so slowly is left out of a turn. */
const MOST_HELD_BYTES = 1_048_576;

/** What rises by itself is no news. */
const RISING: ReadonlySet<string> = new Set(["servedAtMs", "lastPlanAgeSeconds", "silentSeconds"]);

/** What is known besides recommendations, a number that rises with each of them, and how many are too old to be served. */
export interface WatchedState {
  readonly header: () => RecommendationHeader;
  readonly revision: () => number;
  readonly expired: () => number;
}

/**
 * `GET /v1/stream`: server-sent events. `header` is what `/v1/recommendations` says besides the recommendations; it comes when a
 * plan was taken up, a decision expired or the standing changed, and tells a page that it is time to ask for the rest. `beat` says in
 * between that the connection is alive.
 */
export function setStream(server: FastifyInstance, { expired, header, revision }: WatchedState): void {
  const viewers = new Map<NodeJS.WritableStream & { readonly writableLength?: number }, Caller>();
  const places = new FairPlaces(VIEWERS);
  let timer: NodeJS.Timeout | undefined;
  let last = "";
  let quietMs = 0;
  const look = (): void => {
    const now = JSON.stringify([revision(), expired(), header()], still);
    quietMs += LOOK_MS;
    if (now === last && quietMs < BEAT_MS) return;
    const shown = now === last ? undefined : header();
    const message = shown === undefined ? "event: beat\ndata:\n\n" : messageOf(shown);
    last = now;
    quietMs = 0;
    for (const [viewer, caller] of viewers) {
      if ((viewer.writableLength ?? 0) >= MOST_HELD_BYTES) continue;
      const isAll = shown === undefined || caller.namespaces === undefined;
      viewer.write(isAll ? message : messageOf(visibleHeader(shown, caller)));
    }
  };
  const leave = (viewer: NodeJS.WritableStream): void => {
    viewers.delete(viewer);
    if (viewers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    last = "";
  };
  server.get(STREAM_PATH, BY_NAMESPACE, async (request, reply) => {
    const { caller } = request;
    const { raw } = reply;
    const place = places.take(senderAddress(request.raw.socket.remoteAddress), () => raw.end());
    if (place === undefined) {
      const message = `${VIEWERS.maxPerSender} people at your address look already`;
      return reply.code(503).send({ error: "busy", message });
    }
    // At its limit an address gets no place by taking one of its own.
    place.busy();
    reply.hijack();
    raw.writeHead(200, { ...plain(reply.getHeaders()), "content-type": "text/event-stream; charset=utf-8" });
    raw.write(`retry: 2000\n\n${messageOf(visibleHeader(header(), caller))}`);
    viewers.set(raw, caller);
    timer ??= setInterval(look, LOOK_MS);
    const forget = (): void => {
      place.free();
      leave(raw);
    };
    raw.on("close", forget).on("error", forget);
    return reply;
  });
  server.addHook("onClose", async () => {
    clearInterval(timer);
    for (const viewer of viewers.keys()) viewer.end();
  });
}

/** Of a problem the numbers do not count either: they are ages. */
function still(name: string, value: unknown): unknown {
  if (RISING.has(name)) return undefined;
  return name === "problem" ? String(value).replaceAll(/\d+/g, "") : value;
}

const messageOf = (header: RecommendationHeader): string =>
  `event: header\ndata: ${JSON.stringify(header)}\n\n`;

const plain = (headers: Record<string, number | string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
