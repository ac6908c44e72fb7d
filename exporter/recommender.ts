import type { Clock } from "@tradewind/core/clock.ts";
import { decide } from "./decide.ts";
import type { DecisionRules, Refusal } from "./decide.ts";
import { mapInSlices } from "./source/slices.ts";
import type { ReadPlan } from "./source/read-plan.ts";
import { bookEntry, bookKey } from "./store/book.ts";
import type { BookEntry, DecisionBook } from "./store/book.ts";
import type { StateKeeper } from "./store/keeper.ts";

/** How long a new decision waits for the disk before it is served anyway. */
const DISK_PATIENCE_MS = 500;

/** Counts what the guard did. */
export interface DecisionCounter {
  guardAction(step: string): void;
  guardRefusal(step: string): void;
  wishRejected(): void;
}

/** What is known of one service when somebody asks. */
export interface Known {
  readonly entry: BookEntry | undefined;
  /** Why the newest wish led to no decision. */
  readonly refusal: Refusal | undefined;
}

/**
 * Turns plans into decisions and keeps them. A decision is on disk before it is served, so that whatever was served
 * once is served again after a crash.
 */
export class Recommender {
  readonly book: DecisionBook;
  readonly #rules: DecisionRules;
  readonly #keeper: StateKeeper;
  readonly #clock: Clock;
  readonly #counter: DecisionCounter;
  readonly #onChange: () => void;
  #refusals = new Map<string, Refusal>();

  constructor(
    book: DecisionBook,
    rules: DecisionRules,
    edges: { keeper: StateKeeper; clock: Clock; counter: DecisionCounter; onChange: () => void },
  ) {
    this.book = book;
    this.#rules = rules;
    this.#keeper = edges.keeper;
    this.#clock = edges.clock;
    this.#counter = edges.counter;
    this.#onChange = edges.onChange;
  }

  /** Takes up the decisions of the life before. @returns how many */
  async restore(): Promise<number> {
    const records = await this.#keeper.load();
    this.book.put(records.map(bookEntry));
    return records.length;
  }

  find(namespace: string, service: string): Known {
    return {
      entry: this.book.get(namespace, service),
      refusal: this.#refusals.get(bookKey(namespace, service)),
    };
  }

  /** Whether a decision may still be served. One from the future (the clock was set back) may not be served longer for it. */
  isValid({ record }: BookEntry, nowMs: number): boolean {
    return nowMs <= record.validUntilMs && record.decidedAtMs - nowMs <= this.#rules.staleAfterSeconds * 1e3;
  }

  /** Decides every wish of a plan, writes the decisions down and puts them in force. */
  async takePlan({ header, wishes, rejected }: ReadPlan): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const refusals = new Map<string, Refusal>();
    const decided = await mapInSlices(
      wishes,
      (wish) => {
        const previous = this.book.get(wish.namespace, wish.service)?.record;
        const decision = decide(wish, header, previous, this.#rules, nowMs);
        return "record" in decision ? bookEntry(decision.record) : decision.refusal;
      },
      () => this.#clock.monotonicMs(),
    );
    const entries: BookEntry[] = [];
    for (const decision of decided) {
      if ("step" in decision) {
        refusals.set(bookKey(decision.namespace, decision.service), decision);
        this.#counter.guardRefusal(decision.step);
      } else {
        entries.push(decision);
        for (const { step } of decision.record.actions) this.#counter.guardAction(step);
      }
    }
    for (const { namespace, service, reason } of rejected) {
      this.#counter.wishRejected();
      if (namespace === undefined || service === undefined) continue;
      refusals.set(bookKey(namespace, service), { namespace, service, step: "contract", reason });
    }
    await this.#keeper.save(this.#stateAfter(entries), DISK_PATIENCE_MS);
    this.book.put(entries);
    this.#refusals = refusals;
    this.#forget(wishes, nowMs);
    this.#onChange();
  }

  #stateAfter(entries: readonly BookEntry[]): string[] {
    const state = new Map<string, string>();
    for (const { record, json } of this.book.entries())
      state.set(bookKey(record.namespace, record.service), json);
    for (const { record, json } of entries) state.set(bookKey(record.namespace, record.service), json);
    return [...state.values()];
  }

  /** A service that left the plan is served until its decision expires: the plan may have left it out by mistake. */
  #forget(wishes: ReadPlan["wishes"], nowMs: number): void {
    const planned = new Set(wishes.map(({ namespace, service }) => bookKey(namespace, service)));
    this.book.forget(
      ({ record }) => nowMs > record.validUntilMs && !planned.has(bookKey(record.namespace, record.service)),
    );
  }
}
