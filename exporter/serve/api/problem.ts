import type { FastifyReply } from "fastify";
import { problemOf } from "@tradewind/core/net/problem.ts";

/** Answers with what is wrong. @param code a stable word */
export function problem(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).send(problemOf(code, message));
}
