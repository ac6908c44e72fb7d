import { z } from "zod";
import { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { parseJsonWith } from "@tradewind/core/config.ts";
import { mapInSlices } from "./slices.ts";

/** A plan whose wishes were checked one by one: a bad one costs its own service a decision, not all of them. */
export interface ReadPlan {
  readonly header: Omit<Plan, "wishes">;
  readonly wishes: Wish[];
  readonly rejected: readonly RejectedWish[];
}

export interface RejectedWish {
  /** Present when the wish at least names its service. */
  readonly namespace?: string;
  readonly service?: string;
  readonly reason: string;
}

const Envelope = Plan.extend({ wishes: z.array(z.unknown()).max(10_000) });
const Named = Wish.pick({ namespace: true, service: true }).loose();

/**
 * Reads the body of `GET /v1/plan`.
 * @throws TradewindError when it is not a plan at all
 */
export async function readPlan(text: string, what: string, monotonicMs: () => number): Promise<ReadPlan> {
  const { wishes, ...header } = parseJsonWith(Envelope, text, what);
  const read = await mapInSlices(wishes, readWish, monotonicMs);
  const good = new Map<string, Wish>();
  const rejected: RejectedWish[] = [];
  for (const wish of read) {
    if ("rejected" in wish) {
      rejected.push(wish.rejected);
      continue;
    }
    const key = `${wish.namespace}\n${wish.service}`;
    const twin = good.get(key);
    if (twin !== undefined) {
      const { namespace, service } = wish;
      rejected.push({
        namespace,
        service,
        reason: "the plan names the service twice; the larger wish counts",
      });
    }
    if (twin === undefined || twin.allocation.replicas < wish.allocation.replicas) good.set(key, wish);
  }
  return { header, wishes: [...good.values()], rejected };
}

function readWish(value: unknown): Wish | { rejected: RejectedWish } {
  const parsed = Wish.safeParse(value);
  if (parsed.success) return parsed.data;
  const named = Named.safeParse(value);
  const [issue] = parsed.error.issues;
  const reason = `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? "invalid"}`;
  if (!named.success) return { rejected: { reason } };
  return { rejected: { namespace: named.data.namespace, service: named.data.service, reason } };
}
