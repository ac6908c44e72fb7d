import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type {
  DecisionRecord,
  Recommendation,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import { answeredReplicas, recommendationOf } from "../recommendation.ts";

/**
 * The decision in force for one service, small enough that thousands fit: what is served, ready to serve, and the
 * whole record as JSON, which goes to disk and out by HTTP as it is.
 */
export interface BookEntry {
  /** When it was decided, on our monotonic clock; undefined when that is not known. */
  readonly decidedMs: number | undefined;
  readonly recommendation: Recommendation;
  readonly final: Allocation;
  /** Replicas that KEDA is answered; undefined where nothing is to change and it is not known what runs. */
  readonly answered: number | undefined;
  readonly wished: Allocation;
  readonly guard: ServedRecommendation["guard"];
  readonly json: string;
}

export interface BookLimits {
  /** Decisions replaced last that can be asked for by id, whether their numbers changed or not. */
  readonly recent: number;
  /** Decisions replaced by other numbers, kept in all. */
  readonly history: number;
  /** The same of one service. */
  readonly historyPerService: number;
}

/** Names a service; neither part can hold a line break. */
export const bookKey = (namespace: string, service: string): string => `${namespace}\n${service}`;

export function bookEntry(record: DecisionRecord, decidedMs: number | undefined): BookEntry {
  return {
    decidedMs,
    recommendation: recommendationOf(record),
    final: record.final,
    answered: answeredReplicas(record),
    wished: record.wish.allocation,
    guard: record.actions.map(({ step, reason }) => ({ step, reason })),
    json: JSON.stringify(record),
  };
}

const keyOf = ({ recommendation }: BookEntry): string =>
  bookKey(recommendation.namespace, recommendation.service);

/**
 * The decisions in force, one per service, and a bounded number of the decisions before them. The history of a
 * service holds only those whose numbers were replaced by others, so that it reaches back as far as it can.
 */
export class DecisionBook {
  readonly #limits: BookLimits;
  #current = new Map<string, BookEntry>();
  readonly #byId = new Map<string, BookEntry>();
  /** Replaced decisions by id, oldest first. */
  readonly #history = new Map<string, { readonly key: string; readonly json: string }>();
  /** The last replaced decisions by id, oldest first. */
  readonly #recent = new Map<string, string>();
  readonly #historyOfService = new Map<string, string[]>();

  constructor(limits: BookLimits = { recent: 1_000, history: 5_000, historyPerService: 20 }) {
    this.#limits = limits;
  }

  /** The decision in force, or undefined for a service never decided. */
  get(namespace: string, service: string): BookEntry | undefined {
    return this.#current.get(bookKey(namespace, service));
  }

  entries(): IterableIterator<BookEntry> {
    return this.#current.values();
  }

  /** The decisions in force by {@link bookKey}. */
  byService(): IterableIterator<[string, BookEntry]> {
    return this.#current.entries();
  }

  get size(): number {
    return this.#current.size;
  }

  /** Puts decisions in force, all at once. */
  put(entries: Iterable<BookEntry>): void {
    const byService = new Map<string, BookEntry>();
    for (const entry of entries) byService.set(keyOf(entry), entry);
    for (const _ of this.replace(byService)) continue;
  }

  /**
   * Puts decisions, by {@link bookKey}, in force: all at one moment, but with a little of the work in each turn. Takes the map
   * over.
   */
  *replace(entries: Map<string, BookEntry>): Generator<void, void, void> {
    const replaced = this.#current;
    for (const [key, entry] of replaced) {
      if (!entries.has(key)) entries.set(key, entry);
      yield;
    }
    for (const entry of entries.values()) {
      this.#byId.set(entry.recommendation.decisionId, entry);
      yield;
    }
    this.#current = entries;
    for (const [key, before] of replaced) {
      const after = entries.get(key);
      if (after !== undefined && after !== before) this.#file(key, before, after);
      yield;
    }
  }

  /** Puts a replaced decision where it can still be asked for. */
  #file(key: string, before: BookEntry, after: BookEntry): void {
    const { decisionId } = before.recommendation;
    if (decisionId !== after.recommendation.decisionId) this.#byId.delete(decisionId);
    this.#recent.set(decisionId, before.json);
    if (numbersDiffer(before, after)) this.#remember(key, before);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= this.#limits.recent) break;
      this.#recent.delete(oldest);
    }
  }

  /** A decision record as JSON, current or replaced. */
  json(id: string): string | undefined {
    return this.#byId.get(id)?.json ?? this.#recent.get(id) ?? this.#history.get(id)?.json;
  }

  /** Records of one service, newest first, the one in force included. */
  historyJson(namespace: string, service: string): string[] {
    const key = bookKey(namespace, service);
    const replaced = (this.#historyOfService.get(key) ?? []).toReversed();
    const current = this.#current.get(key);
    const earlier = replaced.flatMap((id) => this.#history.get(id)?.json ?? []);
    return current === undefined ? earlier : [current.json, ...earlier];
  }

  /** Drops the services for which `isGone` holds, with their history of changes. @returns how many */
  forget(isGone: (entry: BookEntry) => boolean): number {
    let dropped = 0;
    for (const [key, entry] of this.#current) {
      if (!isGone(entry)) continue;
      this.#current.delete(key);
      this.#byId.delete(entry.recommendation.decisionId);
      for (const id of this.#historyOfService.get(key) ?? []) this.#history.delete(id);
      this.#historyOfService.delete(key);
      dropped += 1;
    }
    return dropped;
  }

  #remember(key: string, { recommendation, json }: BookEntry): void {
    const ids = this.#historyOfService.get(key) ?? [];
    this.#historyOfService.set(key, ids);
    ids.push(recommendation.decisionId);
    this.#history.set(recommendation.decisionId, { key, json });
    if (ids.length > this.#limits.historyPerService) this.#history.delete(ids.shift() ?? "");
    for (const [id, oldest] of this.#history) {
      if (this.#history.size <= this.#limits.history) break;
      this.#history.delete(id);
      const of = this.#historyOfService.get(oldest.key);
      of?.splice(of.indexOf(id), 1);
    }
  }
}

function numbersDiffer(a: BookEntry, b: BookEntry): boolean {
  return (
    a.final.replicas !== b.final.replicas ||
    a.final.cpuCores !== b.final.cpuCores ||
    a.final.memoryBytes !== b.final.memoryBytes ||
    a.guard.length !== b.guard.length ||
    a.guard.some(({ step }, index) => step !== b.guard[index]?.step)
  );
}
