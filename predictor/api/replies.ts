import type { FastifyReply } from "fastify";
import { problemOf } from "@tradewind/core/net/problem.ts";

/** @param text JSON; undefined: there is none yet, for which `whyNot` */
export function sendText(reply: FastifyReply, text: string | undefined, whyNot: string): FastifyReply {
  if (text === undefined) return fail(reply, 503, "no-plan-yet", whyNot);
  return reply.type("application/json; charset=utf-8").send(text);
}

export function fail(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).send(problemOf(code, message));
}
