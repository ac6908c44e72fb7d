import type { Allocation } from "@tradewind/core/contract/plan.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import type { DecisionBook } from "../../keep/book.ts";
import type { BookEntry } from "../../keep/book-entry.ts";
import type { KnownService } from "./rules.ts";

/** The services that decisions are in force for, as orders read them. */
export function knownServices(book: Pick<DecisionBook, "entries" | "setBy">): KnownService[] {
  return [...book.entries()].map((entry): KnownService => {
    const { application, maxReplicas, minReplicas, namespace, service } = entry.recommendation;
    return {
      namespace,
      application,
      service,
      mode: entry.override?.mode ?? entry.mode,
      sizes: entry.mode === "act" ? entry.final : runningOf(entry),
      minReplicas,
      maxReplicas,
      lastChange: lastChangeOf(entry, book),
    };
  });
}

/** Of an application that nothing is carried out for; containers then stay as they are. */
const runningOf = ({ answered }: BookEntry): Partial<Allocation> =>
  answered === undefined ? {} : { replicas: answered };

function lastChangeOf(
  { final, recommendation: { namespace, service } }: BookEntry,
  book: Pick<DecisionBook, "setBy">,
): KnownService["lastChange"] {
  const setBy = book.setBy(namespace, service);
  const changed = SIZES.flatMap((size) => {
    const { decidedAtMs, from } = setBy[size] ?? {};
    return from === undefined || decidedAtMs === undefined ? [] : [{ size, from, decidedAtMs }];
  });
  if (changed.length === 0) return undefined;
  const decidedAtMs = Math.max(...changed.map((each) => each.decidedAtMs));
  const newest = changed.filter((each) => each.decidedAtMs === decidedAtMs);
  return {
    decidedAtMs,
    before: { ...final, ...Object.fromEntries(newest.map(({ from, size }) => [size, from])) },
  };
}

/** The applications that decisions are in force for. */
export function applicationsIn(
  book: Pick<DecisionBook, "entries">,
): Iterable<Pick<KnownService, "application" | "namespace">> {
  const places = new Map<string, Pick<KnownService, "application" | "namespace">>();
  for (const { recommendation } of book.entries()) {
    const { application, namespace } = recommendation;
    places.set(`${namespace}/${application}`, { application, namespace });
  }
  return places.values();
}
