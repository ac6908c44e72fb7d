import { z } from "zod";
import { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { readJsonWith, safeRead } from "@tradewind/core/values/config.ts";

/** A plan whose wishes are still to be read, see {@link readWish}: a bad one costs its own service a decision, not all. */
export interface ReadPlan {
  readonly header: Omit<Plan, "wishes">;
  readonly wishes: unknown[];
}

export interface RejectedWish {
  /** Present when the wish at least names its service. */
  readonly namespace?: string;
  readonly service?: string;
  readonly reason: string;
}

const MAX_WISHES = 10_000;
const Envelope = Plan.extend({ wishes: z.array(z.unknown()).max(MAX_WISHES) });
const Named = Wish.pick({ namespace: true, service: true }).loose();

/**
 * Reads the body of `GET /v1/plan`.
 * @throws TradewindError when it is not a plan at all
 */
export function readPlan(body: Buffer, what: string): ReadPlan {
  const { wishes, ...header } = readJsonWith(Envelope, body.toString("utf8"), what);
  return { header, wishes };
}

/** Reads one wish of a plan. */
export function readWish(value: unknown): Wish | { readonly rejected: RejectedWish } {
  const parsed = safeRead(Wish, value);
  if (parsed.success) return parsed.data;
  const named = Named.safeParse(value);
  const [issue] = parsed.error.issues;
  const reason = `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? "invalid"}`;
  if (!named.success) return { rejected: { reason } };
  return { rejected: { namespace: named.data.namespace, service: named.data.service, reason } };
}
