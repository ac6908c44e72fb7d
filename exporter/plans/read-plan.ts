import { z } from "zod";
import { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { parseJsonWith, readJsonWith, safeRead } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { forEachInSlices } from "../keep/slices.ts";
import { PlanSplitter } from "./split-plan.ts";

/** A plan whose wishes are still to be read, see {@link readWish}: a bad one costs its own service a decision, not all. */
export interface ReadPlan {
  readonly header: Omit<Plan, "wishes">;
  /** Each is parsed whenever it is asked for, which may throw: a plan that is not JSON is no plan at all. */
  readonly wishes: Iterable<unknown>;
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
 * Reads the body of `GET /v1/plan` but for its wishes, in slices.
 * @throws TradewindError when it is not a plan at all
 */
export async function readPlan(body: Buffer, what: string, monotonicMs: () => number): Promise<ReadPlan> {
  const splitter = new PlanSplitter(body);
  await forEachInSlices(splitter.steps(), () => undefined, monotonicMs);
  const split = splitter.result();
  const { wishes, ...header } = readJsonWith(Envelope, split?.headerText ?? body.toString("utf8"), what);
  if (split === undefined) return { header, wishes };
  const count = split.wishEnds.length / 2;
  if (count > MAX_WISHES) {
    throw new TradewindError("invalid-input", `${what} is not valid: ${count} wishes, at most ${MAX_WISHES}`);
  }
  return { header, wishes: { [Symbol.iterator]: () => wishesOf(body, split.wishEnds, what) } };
}

function* wishesOf(body: Buffer, ends: readonly number[], what: string): Generator {
  for (let index = 0; index < ends.length; index += 2) {
    yield parseJsonWith(z.unknown(), body.toString("utf8", ends[index], ends[index + 1]), what);
  }
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
