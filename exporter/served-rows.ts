import { inWords } from "@tradewind/core/reasons.ts";
import type { Refusal } from "./decide.ts";
import type { ServedDecision, ServedRow } from "./keda/table.ts";
import type { BookEntry } from "./store/book.ts";

/** The step that refused, and why. */
export const refusalInWords = ({ reason, step }: Pick<Refusal, "step" | "reason">): string =>
  `${step}: ${inWords([reason], 900)}`;

/** What KEDA is answered of a service. */
export function rowOf(entry: BookEntry, refusal: Refusal | undefined): ServedRow {
  const { namespace, service } = entry.recommendation;
  const { answered } = entry;
  const decided = answered === undefined ? undefined : { ...lifeOf(entry), replicas: answered };
  const unknown: Pick<Refusal, "step" | "reason"> | undefined =
    answered === undefined ? { step: "mode", reason: { code: "running-unknown" } } : refusal;
  return {
    namespace,
    service,
    ...(decided && { decided }),
    ...(unknown && { refusal: refusalInWords(unknown) }),
  };
}

export function lifeOf({ decidedMs, recommendation }: BookEntry): Omit<ServedDecision, "replicas"> {
  const { application, decidedAtMs, validUntilMs } = recommendation;
  return { application, decidedMs, lifetimeMs: validUntilMs - decidedAtMs };
}
