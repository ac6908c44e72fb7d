import type { SizeChanges } from "@tradewind/core/contract/recommendation.ts";
import { bookKey, entryKey } from "./book-entry.ts";
import type { BookEntry } from "./book-entry.ts";
import { ChangeHistory } from "./change-history.ts";
import type { HistoryLimits } from "./change-history.ts";

export interface BookLimits extends HistoryLimits {
  /** Decisions replaced last that can be asked for by id, whether their numbers changed or not. */
  readonly recent: number;
}

/**
 * The decisions in force, one per service, and a bounded number of the decisions before them. The history of a
 * service holds only those that changed one of its sizes, so that it reaches back as far as it can.
 */
export class DecisionBook {
  readonly #limits: BookLimits;
  #current = new Map<string, BookEntry>();
  readonly #byId = new Map<string, BookEntry>();
  readonly #changes: ChangeHistory;
  /** The last replaced decisions by id, oldest first. */
  readonly #recent = new Map<string, string>();

  constructor(limits: BookLimits = { recent: 1_000, history: 2_000, historyPerService: 20 }) {
    this.#limits = limits;
    this.#changes = new ChangeHistory(limits);
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
    for (const entry of entries) byService.set(entryKey(entry), entry);
    this.replace(byService);
  }

  /** Puts decisions, by {@link bookKey}, in force. Takes the map over. */
  replace(entries: Map<string, BookEntry>): void {
    const replaced = this.#current;
    for (const [key, entry] of replaced) if (!entries.has(key)) entries.set(key, entry);
    for (const entry of entries.values()) this.#byId.set(entry.recommendation.decisionId, entry);
    this.#current = entries;
    for (const [key, after] of entries) {
      const before = replaced.get(key);
      if (before !== undefined && after !== before) this.#file(before, after);
      this.#changes.note(key, after);
    }
  }

  /** Takes decisions that changed a size and are no longer in force, oldest first: those of the process before. */
  recall(entries: Iterable<BookEntry>): void {
    for (const entry of entries) this.#changes.note(entryKey(entry), entry);
  }

  /** Puts a replaced decision where it can still be asked for. */
  #file(before: BookEntry, after: BookEntry): void {
    const { decisionId } = before.recommendation;
    if (decisionId !== after.recommendation.decisionId) this.#byId.delete(decisionId);
    this.#recent.set(decisionId, before.json);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= this.#limits.recent) break;
      this.#recent.delete(oldest);
    }
  }

  /** A decision record as JSON, current or replaced. */
  json(id: string): string | undefined {
    return this.#byId.get(id)?.json ?? this.#recent.get(id) ?? this.#changes.json(id);
  }

  /** The record in force of one service, and before it those that changed one of its sizes, newest first. */
  historyJson(namespace: string, service: string): string[] {
    const key = bookKey(namespace, service);
    const current = this.#current.get(key);
    const earlier = this.#changes.ids(key).filter((id) => id !== current?.recommendation.decisionId);
    const records = earlier.flatMap((id) => this.#changes.json(id) ?? []);
    return current === undefined ? records : [current.json, ...records];
  }

  /** For each size of a service the decision that set it. */
  setBy(namespace: string, service: string): SizeChanges {
    return this.#changes.setBy(bookKey(namespace, service));
  }

  /** Rises whenever a size changes. */
  get changesRevision(): number {
    return this.#changes.revision;
  }

  /** Records of decisions that changed a size, as JSON, oldest first, for {@link recall}. */
  changesJson(mostPast: number): string[] {
    return this.#changes.records(mostPast);
  }

  /** Drops the services for which `isGone` holds, with their history of changes. @returns how many */
  forget(isGone: (entry: BookEntry) => boolean): number {
    let dropped = 0;
    for (const [key, entry] of this.#current) {
      if (!isGone(entry)) continue;
      this.#current.delete(key);
      this.#byId.delete(entry.recommendation.decisionId);
      this.#changes.forget(key);
      dropped += 1;
    }
    return dropped;
  }
}
