import type { DecisionRecord, Recommendation } from "@tradewind/core/contract/recommendation.ts";
import { recommendationOf } from "../recommendation.ts";

/** The decision in force for one service. */
export interface BookEntry {
  readonly recommendation: Recommendation;
  readonly record: DecisionRecord;
  /** The record as JSON, written once: it goes to disk and out by HTTP as it is. */
  readonly json: string;
}

export interface BookLimits {
  /** Replaced decisions kept in all. */
  readonly history: number;
  /** Replaced decisions kept of one service. */
  readonly historyPerService: number;
}

/** Names a service; neither part can hold a line break. */
export const bookKey = (namespace: string, service: string): string => `${namespace}\n${service}`;

export function bookEntry(record: DecisionRecord): BookEntry {
  return { record, recommendation: recommendationOf(record), json: JSON.stringify(record) };
}

/**
 * The decisions in force, one per service, and a bounded number of the decisions before them. Only those whose
 * numbers were replaced by others are kept in the history, so that it reaches back as far as it can.
 */
export class DecisionBook {
  readonly #limits: BookLimits;
  readonly #current = new Map<string, BookEntry>();
  readonly #byId = new Map<string, BookEntry>();
  /** Replaced decisions by id, oldest first. */
  readonly #history = new Map<string, { readonly key: string; readonly json: string }>();
  readonly #historyOfService = new Map<string, string[]>();

  constructor(limits: BookLimits = { history: 5_000, historyPerService: 20 }) {
    this.#limits = limits;
  }

  /** The decision in force, or undefined for a service never decided. */
  get(namespace: string, service: string): BookEntry | undefined {
    return this.#current.get(bookKey(namespace, service));
  }

  entries(): IterableIterator<BookEntry> {
    return this.#current.values();
  }

  get size(): number {
    return this.#current.size;
  }

  /** Puts decisions in force, all at once. */
  put(entries: Iterable<BookEntry>): void {
    for (const entry of entries) {
      const key = bookKey(entry.record.namespace, entry.record.service);
      const replaced = this.#current.get(key);
      if (replaced !== undefined) {
        this.#byId.delete(replaced.record.id);
        if (numbersDiffer(replaced.record, entry.record)) this.#remember(key, replaced);
      }
      this.#current.set(key, entry);
      this.#byId.set(entry.record.id, entry);
    }
  }

  /** A decision record as JSON, current or replaced. */
  json(id: string): string | undefined {
    return this.#byId.get(id)?.json ?? this.#history.get(id)?.json;
  }

  /** Records of one service, newest first, the one in force included. */
  historyJson(namespace: string, service: string): string[] {
    const key = bookKey(namespace, service);
    const replaced = (this.#historyOfService.get(key) ?? []).toReversed();
    const current = this.#current.get(key);
    const earlier = replaced.flatMap((id) => this.#history.get(id)?.json ?? []);
    return current === undefined ? earlier : [current.json, ...earlier];
  }

  /** Drops the services for which `isGone` holds, with their history. @returns how many */
  forget(isGone: (entry: BookEntry) => boolean): number {
    let dropped = 0;
    for (const [key, entry] of this.#current) {
      if (!isGone(entry)) continue;
      this.#current.delete(key);
      this.#byId.delete(entry.record.id);
      for (const id of this.#historyOfService.get(key) ?? []) this.#history.delete(id);
      this.#historyOfService.delete(key);
      dropped += 1;
    }
    return dropped;
  }

  #remember(key: string, { record, json }: BookEntry): void {
    const ids = this.#historyOfService.get(key) ?? [];
    this.#historyOfService.set(key, ids);
    ids.push(record.id);
    this.#history.set(record.id, { key, json });
    if (ids.length > this.#limits.historyPerService) this.#history.delete(ids.shift() ?? "");
    for (const [id, oldest] of this.#history) {
      if (this.#history.size <= this.#limits.history) break;
      this.#history.delete(id);
      const of = this.#historyOfService.get(oldest.key);
      of?.splice(of.indexOf(id), 1);
    }
  }
}

function numbersDiffer(a: DecisionRecord, b: DecisionRecord): boolean {
  return (
    a.final.replicas !== b.final.replicas ||
    a.final.cpuCores !== b.final.cpuCores ||
    a.final.memoryBytes !== b.final.memoryBytes ||
    a.actions.map(({ step }) => step).join() !== b.actions.map(({ step }) => step).join()
  );
}
