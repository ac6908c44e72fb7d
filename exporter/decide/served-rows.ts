import { inWords } from "@tradewind/core/contract/reasons.ts";
import type { Refusal } from "./decide.ts";
import type { ServedDecision, ServedRow } from "../keep/served-table.ts";
import { EVERYTHING, keyOf } from "./plan-draft.ts";
import type { PlanDraft, Scope } from "./plan-draft.ts";
import type { DecisionBook } from "../keep/book.ts";
import type { BookEntry } from "../keep/book-entry.ts";

/** The step that refused, and why. */
export const refusalInWords = ({ reason, step }: Pick<Refusal, "step" | "reason">): string =>
  `${step}: ${inWords([reason], 900)}`;

/** What KEDA is answered of a service. */
export function rowOf(entry: BookEntry, refusal: Refusal | undefined): ServedRow {
  const { namespace, service } = entry.recommendation;
  const { answered, unanswered } = entry;
  const servedDecision = answered === undefined ? undefined : { ...lifeOf(entry), replicas: answered };
  const unknown: Pick<Refusal, "step" | "reason"> | undefined =
    unanswered === undefined ? refusal : { step: "mode", reason: unanswered };
  return {
    namespace,
    service,
    ...(servedDecision && { decided: servedDecision }),
    ...(unknown && { refusal: refusalInWords(unknown) }),
  };
}

export function lifeOf({ decidedMs, recommendation }: BookEntry): Omit<ServedDecision, "replicas"> {
  const { application, decidedAtMs, validUntilMs } = recommendation;
  return { application, decidedMs, lifetimeMs: validUntilMs - decidedAtMs };
}

/** What is served once the draft is in force. @param refusals of before, by what they were decided of */
export function* rowsAfter(
  { entries, refusals: own, scope }: PlanDraft,
  book: DecisionBook,
  refusals: ReadonlyMap<string, ReadonlyMap<string, Refusal>>,
): Generator<ServedRow> {
  const all = allRefusals(own, scope, refusals);
  for (const [key, entry] of book.byService()) {
    if (!entries.has(key)) yield rowOf(entry, all.get(key));
  }
  for (const [key, entry] of entries) yield rowOf(entry, all.get(key));
  for (const [key, refusal] of all) {
    const { namespace, service } = refusal;
    if (entries.has(key) || book.get(namespace, service) !== undefined) continue;
    yield { namespace, service, refusal: refusalInWords(refusal) };
  }
}

/** @param ownRefusals in the place of those of the scope */
function allRefusals(
  ownRefusals: ReadonlyMap<string, Refusal>,
  scope: Scope,
  before: ReadonlyMap<string, ReadonlyMap<string, Refusal>>,
): ReadonlyMap<string, Refusal> {
  const refusalByService = new Map<string, Refusal>();
  for (const [key, refusals] of before) {
    const isKept = key !== keyOf(scope) && key !== keyOf(EVERYTHING);
    if (isKept) for (const [service, refusal] of refusals) refusalByService.set(service, refusal);
  }
  for (const [service, refusal] of ownRefusals) refusalByService.set(service, refusal);
  return refusalByService;
}
