import type { Clock } from "@tradewind/core/clock.ts";
import { decide } from "./decide.ts";
import type { DecisionRules, Refusal } from "./decide.ts";
import { forEachInSlices } from "./source/slices.ts";
import { readWish } from "./source/read-plan.ts";
import type { ReadPlan } from "./source/read-plan.ts";
import { bookEntry, bookKey } from "./store/book.ts";
import type { BookEntry, DecisionBook } from "./store/book.ts";
import type { StateKeeper } from "./store/keeper.ts";
import { mayBeServed } from "./keda/table.ts";
import type { ServedRow } from "./keda/table.ts";

/** How long a new decision waits for the disk before it is served anyway. */
const DISK_PATIENCE_MS = 500;
/** Stands in the place of a guard step when a wish breaks the contract and never reaches the guard. */
const CONTRACT = "contract";

/** Counts what the guard did. */
export interface DecisionCounter {
  guardAction(step: string): void;
  guardRefusal(step: string): void;
  wishRejected(): void;
}

/** Puts these rows in force for KEDA, all at one moment, in the place of all before. Resolves when they are. */
export type Serve = (rows: Iterable<ServedRow>) => Promise<void>;

/**
 * Turns plans into decisions and keeps them. A decision is on disk before it is served, so that whatever was served
 * once is served again after a crash, and KEDA is served it before it can be read anywhere else.
 */
export class Recommender {
  readonly book: DecisionBook;
  readonly #rules: DecisionRules;
  readonly #keeper: StateKeeper;
  readonly #clock: Clock;
  readonly #counter: DecisionCounter;
  readonly #serve: Serve;
  #refusals = new Map<string, Refusal>();

  constructor(
    book: DecisionBook,
    rules: DecisionRules,
    edges: { keeper: StateKeeper; clock: Clock; counter: DecisionCounter; serve: Serve },
  ) {
    this.book = book;
    this.#rules = rules;
    this.#keeper = edges.keeper;
    this.#clock = edges.clock;
    this.#counter = edges.counter;
    this.#serve = edges.serve;
  }

  /** Takes up the decisions of the life before. @returns how many */
  async restore(): Promise<number> {
    const entries = await this.#keeper.load();
    this.book.put(entries);
    await this.#serve(this.#rowsAfter({ entries: new Map(), refusals: new Map() }));
    return entries.length;
  }

  /** Why the newest wish for a service led to no decision. */
  refusalOf(namespace: string, service: string): Refusal | undefined {
    return this.#refusals.get(bookKey(namespace, service));
  }

  /** Whether a decision may still be served. */
  isValid({ recommendation }: BookEntry, nowMs: number): boolean {
    return mayBeServed(recommendation, this.#rules.staleAfterSeconds * 1e3, nowMs);
  }

  /** Decides every wish of a plan, writes the decisions down and puts them in force. */
  async takePlan({ header, wishes }: ReadPlan): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const draft: PlanDraft = { entries: new Map(), refusals: new Map() };
    await this.#inSlices(wishes, (value) => this.#take(value, header, nowMs, draft));
    await this.#inSlices(draft.refusals.values(), ({ step }) => {
      if (step !== CONTRACT) this.#counter.guardRefusal(step);
    });
    await this.#inSlices(draft.entries.values(), ({ guard }) => {
      for (const { step } of guard) this.#counter.guardAction(step);
    });
    await this.#keeper.save(await this.#stateAfter(draft), DISK_PATIENCE_MS);
    this.#forget(draft, nowMs);
    await this.#serve(this.#rowsAfter(draft));
    await this.#inSlices(this.book.replace(draft.entries), () => undefined);
    this.#refusals = draft.refusals;
  }

  async #inSlices<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void> {
    await forEachInSlices(items, visit, () => this.#clock.monotonicMs());
  }

  #take(value: unknown, header: ReadPlan["header"], nowMs: number, draft: PlanDraft): void {
    const wish = readWish(value);
    if ("rejected" in wish) {
      const { namespace, service, reason } = wish.rejected;
      this.#counter.wishRejected();
      if (namespace === undefined || service === undefined) return;
      draft.refusals.set(bookKey(namespace, service), { namespace, service, step: CONTRACT, reason });
      return;
    }
    const { namespace, service } = wish;
    const key = bookKey(namespace, service);
    const twin = draft.entries.get(key);
    if (twin !== undefined) {
      this.#counter.wishRejected();
      if (twin.wished.replicas >= wish.allocation.replicas) return;
    }
    const before = this.book.get(namespace, service);
    const previous =
      before === undefined
        ? undefined
        : { final: before.final, decidedAtMs: before.recommendation.decidedAtMs };
    const decision = decide(wish, header, previous, this.#rules, nowMs);
    if ("refusal" in decision) {
      draft.refusals.set(key, decision.refusal);
    } else {
      draft.entries.set(key, bookEntry(decision.record));
      draft.refusals.delete(key);
    }
  }

  async #stateAfter({ entries }: PlanDraft): Promise<string[]> {
    const state: string[] = [];
    await this.#inSlices(this.book.byService(), ([key, { json }]) => {
      if (!entries.has(key)) state.push(json);
    });
    for (const { json } of entries.values()) state.push(json);
    return state;
  }

  /** What is served once the draft is in force. */
  *#rowsAfter({ entries, refusals }: PlanDraft): Generator<ServedRow> {
    for (const [key, entry] of this.book.byService()) {
      if (!entries.has(key)) yield rowOf(entry, refusals.get(key));
    }
    for (const [key, entry] of entries) yield rowOf(entry, refusals.get(key));
    for (const [key, { namespace, service, step, reason }] of refusals) {
      if (entries.has(key) || this.book.get(namespace, service) !== undefined) continue;
      yield { namespace, service, refusal: `${step}: ${reason}` };
    }
  }

  /** A service that left the plan is served until its decision expires: the plan may have left it out by mistake. */
  #forget({ entries, refusals }: PlanDraft, nowMs: number): void {
    this.book.forget(({ recommendation: { namespace, service, validUntilMs } }) => {
      if (nowMs <= validUntilMs) return false;
      const key = bookKey(namespace, service);
      return !entries.has(key) && !refusals.has(key);
    });
  }
}

/** What a plan comes to, by service. */
interface PlanDraft {
  readonly entries: Map<string, BookEntry>;
  readonly refusals: Map<string, Refusal>;
}

function rowOf({ final, recommendation }: BookEntry, refusal: Refusal | undefined): ServedRow {
  const { application, decidedAtMs, namespace, service, validUntilMs } = recommendation;
  const decided = { application, replicas: final.replicas, decidedAtMs, validUntilMs };
  if (refusal === undefined) return { namespace, service, decided };
  return { namespace, service, decided, refusal: `${refusal.step}: ${refusal.reason}` };
}
