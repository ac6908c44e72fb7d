import { OverrideExchange } from "@tradewind/core/contract/override.ts";
import { may } from "@tradewind/core/net/access-tokens.ts";
import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import { senderAddress } from "@tradewind/core/net/connection-limits.ts";
import { issuesInWords } from "@tradewind/core/values/errors.ts";
import type { FastifyInstance } from "fastify";
import type { Applications } from "../run/applications.ts";
import { chosen } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { fail } from "./replies.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** By the token that the request shows. */
    caller: Caller;
  }
}

/** Sizes of as many services as one application may have. */
const MAX_BYTES = 256 * 1_024;

const isLoopback = (address: string): boolean => address.startsWith("127.") || address === "::1";

/**
 * Scalers say here what people ordered, and hear what other scalers were told. Whoever may is told by the scope of a token; where none is
 * asked for, only by being on this machine, since what is said here is answered to KEDA.
 */
export function addOverrides(server: FastifyInstance, applications: Applications): void {
  server.post("/v1/overrides", { bodyLimit: MAX_BYTES }, async (request, reply) => {
    const found = chosen(applications, request.query as Asked);
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    const { one } = found;
    const isNear = isLoopback(senderAddress(request.socket.remoteAddress));
    if (!mayOverride(request.caller, one.application.namespace, isNear))
      return fail(
        reply,
        403,
        "refused",
        "overrides are taken with a token of the scope 'override', or from here",
      );
    const { data, error } = OverrideExchange.safeParse(request.body);
    if (data === undefined) return fail(reply, 400, "bad-request", issuesInWords(error.issues));
    return reply.send(one.takeOverrides(data));
  });
}

const mayOverride = (caller: Caller, namespace: string, isNear: boolean): boolean =>
  caller.name === undefined ? isNear : may(caller, "override", namespace);
