import type { ServerResponse } from "node:http";
import { z } from "zod";
import { PROFILES, Profiler, profileSeconds } from "../process/profiler.ts";
import { TradewindError } from "../values/errors.ts";
import type { Need } from "./http-door.ts";
import type { DescribedRoute } from "./openapi.ts";

/** As both servers have it. */
interface Server<Reply> {
  get(
    path: string,
    need: { readonly config: Need },
    answer: (request: { readonly query: unknown }, reply: Reply) => Promise<unknown>,
  ): unknown;
}

const PATH = "/v1/profile/";
/** Time for the answer after the profile. */
const ANSWER_MS = 10_000;
/** Takes as long as was asked, and little work. */
export const isProfile = (url: string): boolean => url.startsWith(PATH);

export const PROFILE_ROUTES: readonly DescribedRoute[] = PROFILES.map((kind) => ({
  method: "get",
  path: `${PATH}${kind}`,
  summary: `Samples the main thread: ${kind === "cpu" ? "where its time goes" : "what it allocates and keeps"}; needs a token of the scope \`profile\`.`,
  query: { seconds: "1 to 60; default: 10." },
  answer: z.looseObject({}),
}));

/** @param refuse answers with a status, a code and why */
export function setProfiles<Reply extends { readonly raw: ServerResponse }>(
  server: Server<Reply>,
  refuse: (reply: Reply, status: number, code: string, message: string) => unknown,
): void {
  const profiler = new Profiler();
  for (const kind of PROFILES) {
    server.get(`${PATH}${kind}`, { config: { scope: "profile" } }, async ({ query }, reply) => {
      try {
        const seconds = profileSeconds((query as { readonly seconds?: unknown }).seconds);
        // Nothing is sent before the end, which is no idle connection.
        reply.raw.setTimeout(1e3 * seconds + ANSWER_MS);
        return await profiler.take(kind, seconds);
      } catch (error) {
        if (!(error instanceof TradewindError)) throw error;
        return refuse(reply, error.code === "busy" ? 409 : 400, error.code, error.message);
      }
    });
  }
}
