import { fairlyCut } from "@tradewind/core/net/fair-share.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import type { Allocation, ApplicationMode } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord, Recommendation, SizeChanges } from "@tradewind/core/contract/recommendation.ts";
import type { BookEntry } from "./book-entry.ts";
import { reasonOf } from "./decision-reason.ts";

export interface HistoryLimits {
  /** Decisions that set no present size any more, kept in all. Beyond it the namespace that has the most loses its oldest. */
  readonly history: number;
  /** The same of one service. */
  readonly historyPerService: number;
}

interface ServiceChanges {
  setBy: SizeChanges;
  /** Of the decision noted last. */
  mode: ApplicationMode;
  /** All decisions that are kept of the service, in the order in which they were made. */
  readonly ids: string[];
}

/**
 * The decisions that changed a size of a service: for each present size the one that set it, however long ago that was,
 * and a bounded number of those before. Decisions that changed nothing leave no trace.
 */
export class ChangeHistory {
  readonly #limits: HistoryLimits;
  readonly #services = new Map<string, ServiceChanges>();
  /** By id, in the order in which they were made. */
  readonly #json = new Map<string, string>();
  /** Decisions that set none of the present sizes any more, with their services' keys; those retired first come first. */
  readonly #past = new Map<string, string>();
  /** Ids of {@link #past} by namespace, in the same order. */
  readonly #pastOf = new Map<string, Set<string>>();
  #revision = 0;

  constructor(limits: HistoryLimits) {
    this.#limits = limits;
  }

  /** Rises with every change. */
  get revision(): number {
    return this.#revision;
  }

  /** Takes the decision in force. Decisions of one service come in the order in which they were made. */
  note(key: string, entry: BookEntry): void {
    const known = this.#services.get(key) ?? { setBy: {}, mode: entry.mode, ids: [] };
    const isFirstAct = entry.mode === "act" && known.mode !== "act";
    known.mode = entry.mode;
    const setBy = changedBy(known.setBy, entry, isFirstAct);
    if (setBy === known.setBy) return;
    const { decisionId } = entry.recommendation;
    const before = idsOf(known.setBy);
    known.setBy = setBy;
    known.ids.push(decisionId);
    this.#services.set(key, known);
    this.#json.set(decisionId, entry.json);
    this.#revision += 1;
    const present = new Set(idsOf(setBy));
    for (const id of new Set([...before, decisionId])) if (!present.has(id)) this.#retire(key, known, id);
  }

  /** For each size of a service the decision that set it. */
  setBy(key: string): SizeChanges {
    return this.#services.get(key)?.setBy ?? {};
  }

  json(id: string): string | undefined {
    return this.#json.get(id);
  }

  /** Ids of the decisions that changed a size of a service, newest first. */
  ids(key: string): string[] {
    return this.#services.get(key)?.ids.toReversed() ?? [];
  }

  /** Records as JSON in the order in which they were made: all that set a present size, and the `mostPast` others retired last. */
  records(mostPast: number): string[] {
    const newest = [...this.#past].reverse();
    const kept = new Set(fairlyCut(newest, ([, key]) => namespaceOf(key), mostPast).map(([id]) => id));
    return [...this.#json].flatMap(([id, json]) => (this.#past.has(id) && !kept.has(id) ? [] : [json]));
  }

  forget(key: string): void {
    const known = this.#services.get(key);
    if (known === undefined) return;
    this.#services.delete(key);
    this.#revision += 1;
    for (const id of known.ids) {
      this.#json.delete(id);
      this.#past.delete(id);
      this.#pastOf.get(namespaceOf(key))?.delete(id);
    }
  }

  /** Keeps a decision that sets none of the present sizes any more as long as there is a place for it. */
  #retire(key: string, { ids }: ServiceChanges, id: string): void {
    this.#past.set(id, key);
    const namespace = namespaceOf(key);
    this.#pastOf.set(namespace, (this.#pastOf.get(namespace) ?? new Set()).add(id));
    const past = ids.filter((each) => this.#past.has(each));
    if (past.length > this.#limits.historyPerService) this.#drop(past[0] ?? id);
    if (this.#past.size <= this.#limits.history) return;
    let most = new Set<string>();
    for (const ofOne of this.#pastOf.values()) if (ofOne.size > most.size) most = ofOne;
    const [oldest] = most;
    if (oldest !== undefined) this.#drop(oldest);
  }

  #drop(id: string): void {
    const key = this.#past.get(id) ?? "";
    const ids = this.#services.get(key)?.ids;
    ids?.splice(ids.indexOf(id), 1);
    this.#past.delete(id);
    this.#pastOf.get(namespaceOf(key))?.delete(id);
    this.#json.delete(id);
  }
}

/** Of a service's key, see `bookKey`. */
const namespaceOf = (key: string): string => key.slice(0, key.indexOf("\n"));

/**
 * The same object where the decision changes no size.
 * @param isFirstAct those before were only recommended: the size before is what runs
 */
function changedBy(known: SizeChanges, entry: BookEntry, isFirstAct: boolean): SizeChanges {
  const { final, observed } = entry;
  const changed = SIZES.filter((size) => final[size] !== known[size]?.to);
  if (changed.length === 0) return known;
  const before: Partial<Allocation> = {};
  for (const size of SIZES) {
    const from = (isFirstAct ? observed[size] : undefined) ?? known[size]?.to ?? observed[size];
    if (from !== undefined) before[size] = from;
  }
  const { decidedAtMs, decisionId, policy } = entry.recommendation;
  const { reason, reasons } = said(entry, before);
  let after = known;
  for (const size of changed) {
    const { [size]: _before, ...others } = after;
    const [from, to] = [before[size], final[size]];
    const start = from !== undefined && from !== to ? { from } : {};
    after =
      to === undefined
        ? others
        : { ...others, [size]: { ...start, to, decidedAtMs, decisionId, policy, reason, reasons } };
  }
  return after;
}

/** Why the decision is what it is; what it says itself where it counts from the same sizes. */
function said(entry: BookEntry, before: Partial<Allocation>): Pick<Recommendation, "reason" | "reasons"> {
  if (SIZES.every((size) => before[size] === entry.observed[size])) return entry.recommendation;
  const { reasons, text: reason } = reasonOf(JSON.parse(entry.json) as DecisionRecord, before);
  return { reason, reasons };
}

function idsOf(setBy: SizeChanges): string[] {
  return SIZES.flatMap((size) => setBy[size]?.decisionId ?? []);
}
