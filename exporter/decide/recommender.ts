import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Allocation, Plan } from "@tradewind/core/contract/plan.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { ReadReason, Reason } from "@tradewind/core/contract/reason.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { Turns } from "@tradewind/core/process/turns.ts";
import { contextOf, decide, decideAgain } from "./decide.ts";
import type { OverriddenService } from "./override/overrides.ts";
import { asRead } from "./override/rules.ts";
import type { ServicePlace } from "./override/rules.ts";
import type { DecisionPast, DecisionRules, KeptConfiguration, PlanHeader, Refusal } from "./decide.ts";
import type { ChangeQueue } from "./approval/change-queue.ts";
import { EVERYTHING, isOf, keyOf, nothingNew } from "./plan-draft.ts";
import type { PlanDraft, Scope } from "./plan-draft.ts";
import { lifeOf, rowsAfter } from "./served-rows.ts";
import { decisionEvents } from "../keep/journal/events.ts";
import type { JournalKeeper } from "../keep/journal/keeper.ts";
import { refusalOf } from "./guard/guard.ts";
import type { GuardContext } from "./guard/step.ts";
import { Outcomes } from "./outcomes.ts";
import type { OpenDecision } from "./outcomes.ts";
import { PlanFacts } from "./plan-facts.ts";
import { serviceSight } from "./rollback/rollbacks.ts";
import { forEachInSlices } from "../keep/slices.ts";
import { readWish } from "../plans/read-plan.ts";
import { bookEntry, bookKey, entryKey, isOfPlan, isOfSilenceAfter } from "../keep/book-entry.ts";
import type { DecisionBook } from "../keep/book.ts";
import type { BookEntry } from "../keep/book-entry.ts";
import type { StateKeeper } from "../keep/keeper.ts";
import { atMost, DISK_PATIENCE_MS } from "../keep/patience.ts";
import { mayBeServed } from "../keep/served-table.ts";
import type { ServedRow } from "../keep/served-table.ts";

/** Decisions of before the present sizes that are written down, all services together. */
const MOST_PAST = 1_000;
/**
 * How long changes count from the same decision: a little less than the window (15 s) and the HPA's own sync, so that a plan that comes early
 * is not held.
 */
const CHANGE_PERIOD_MS = 12_000;
/** Stands in the place of a guard step when a wish breaks the contract and never reaches the guard. */
const CONTRACT = "contract";

/** Counts what the guard did. */
export interface DecisionCounter {
  guardAction(step: string): void;
  guardRefusal(step: string): void;
  wishRejected(): void;
}

export interface RecommenderRules extends DecisionRules {
  /** A decision on disk that is dated this much after our wall clock is of unknown age. ms */
  readonly clockToleranceMs: number;
  /** Finds the configuration of an application, for its priorities; absent: none is known. */
  readonly applicationOf?: (namespace: string, name: string) => Application | undefined;
  /** Whether it should be known and is not, as after a start or a deletion; absent: never. */
  readonly isUnread?: (namespace: string, name: string) => boolean;
  /** Finds what a person ordered in the place of the plan; absent: nothing. */
  readonly overrideOf?: (place: ServicePlace) => OverriddenService | undefined;
}

/** A plan as far as decisions need it. */
export interface TakenPlan {
  readonly header: PlanHeader &
    Pick<Plan, "failedRatio" | "measuredLatencySeconds" | "namespace" | "room"> &
    Partial<Pick<Plan, "disruptions" | "objective" | "policyReasons">>;
  /** Gone through when the plan has its turn. */
  readonly wishes: Iterable<unknown>;
  /** When it was made, on our monotonic clock. */
  readonly madeMs: number;
  /** It is of some services only: what is known of the others stays. */
  readonly isPartial?: boolean;
}

type Place = NonNullable<Scope>;

/** Puts these rows in force for KEDA, all at one moment, in the place of all before. Resolves when they are. */
export type Serve = (rows: Iterable<ServedRow>) => Promise<void>;

export interface RecommenderEdges {
  /** Keeps the decisions in force. */
  readonly keeper: StateKeeper;
  /** Keeps the decisions that changed a size; without it they are forgotten at the end of the process. */
  readonly changes?: StateKeeper;
  /** Changes that wait for a person; absent: none does. */
  readonly queue?: Pick<ChangeQueue, "contextOf" | "recall" | "settle">;
  /** Says what was done; absent: nobody. */
  readonly journal?: Pick<JournalKeeper, "append">;
  readonly clock: Clock;
  readonly counter: DecisionCounter;
  readonly serve: Serve;
  /** How long a decision waits for the disk; default: {@link DISK_PATIENCE_MS}. */
  readonly diskPatienceMs?: number;
}

/**
 * Turns plans into decisions and keeps them. A decision is on disk before it is served, so that whatever was served
 * once is served again after a crash, and KEDA is served it before it can be read anywhere else.
 */
export class Recommender {
  readonly book: DecisionBook;
  readonly #rules: RecommenderRules;
  readonly #startedMs: number;
  readonly #keeper: StateKeeper;
  readonly #changes: StateKeeper | undefined;
  readonly #journal: RecommenderEdges["journal"];
  readonly #queue: RecommenderEdges["queue"];
  readonly #clock: Clock;
  readonly #counter: DecisionCounter;
  readonly #serve: Serve;
  readonly #patienceMs: number;
  /** By what they were decided of, see {@link Scope}. */
  readonly #refusals = new Map<string, ReadonlyMap<string, Refusal>>();
  /** Plans are taken one after the other. */
  readonly #turns = new Turns();
  /**
   * The predictors whose plans are taken, by what they are of: its start, and since when where another one's were taken before, on our
   * monotonic clock.
   */
  readonly #predictors = new Map<string, FollowedPredictor>();
  #savedRevision = 0;
  readonly #planFacts: PlanFacts;
  readonly #outcomes = new Outcomes();

  constructor(book: DecisionBook, rules: RecommenderRules, edges: RecommenderEdges) {
    this.book = book;
    this.#rules = rules;
    this.#planFacts = new PlanFacts(rules.applicationOf ?? (() => undefined));
    this.#keeper = edges.keeper;
    this.#changes = edges.changes;
    this.#journal = edges.journal;
    this.#queue = edges.queue;
    this.#clock = edges.clock;
    this.#startedMs = edges.clock.monotonicMs();
    this.#counter = edges.counter;
    this.#serve = edges.serve;
    this.#patienceMs = edges.diskPatienceMs ?? DISK_PATIENCE_MS;
  }

  /**
   * Restores the decisions in force from disk. Their age is what the wall clock says; one that is dated in the future is
   * known, but not served, since nobody can tell how old it is.
   * @returns how many
   */
  async restore(): Promise<number> {
    const records = await this.#keeper.load();
    const changes = (await this.#changes?.load()) ?? [];
    this.book.recall(changes.map((record) => bookEntry(record, undefined)));
    this.#savedRevision = this.book.changesRevision;
    this.#queue?.recall([...changes, ...records]);
    const { clockToleranceMs } = this.#rules;
    const [nowMs, monotonicMs] = [this.#clock.nowMs(), this.#clock.monotonicMs()];
    this.book.put(
      records.map((record) => {
        const ageMs = nowMs - record.decidedAtMs;
        return bookEntry(record, ageMs < -clockToleranceMs ? undefined : monotonicMs - Math.max(0, ageMs));
      }),
    );
    for (const { brownout, recommendation } of this.book.entries())
      if (brownout !== undefined) this.#planFacts.recall(recommendation, brownout);
    await this.#serve(rowsAfter(nothingNew(EVERYTHING), this.book, this.#refusals));
    return records.length;
  }

  /** Why the newest wish for a service led to no decision. */
  refusalOf(namespace: string, service: string): Refusal | undefined {
    const key = bookKey(namespace, service);
    for (const refusals of this.#refusals.values()) {
      const refusal = refusals.get(key);
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }

  /** Decisions that are too old to be served. */
  expired(monotonicMs: number): number {
    let count = 0;
    for (const entry of this.book.entries()) if (!this.isValid(entry, monotonicMs)) count += 1;
    return count;
  }

  /** Whether a decision may still be served, by our monotonic clock. */
  isValid(entry: BookEntry, monotonicMs: number): boolean {
    return mayBeServed(lifeOf(entry), monotonicMs);
  }

  /**
   * Decides every wish of a plan, writes the decisions down and puts them in force.
   * @param scope the application that the plan is of, among several: what is decided of the others stays
   */
  async takePlan(plan: TakenPlan, scope: Scope = EVERYTHING): Promise<void> {
    return this.#turns.take(async () => this.#takeNow(plan, scope));
  }

  /** Applications that are not planned any more and have no valid decision left. */
  lapsed(planned: readonly Place[]): Place[] {
    const nowMs = this.#clock.monotonicMs();
    const servedKeys = new Set(planned.map(keyOf));
    const places = new Map<string, Place>();
    for (const entry of this.book.entries()) {
      const { application: name, namespace } = entry.recommendation;
      const key = keyOf({ name, namespace });
      places.set(key, { name, namespace });
      if (!servedKeys.has(key) && this.isValid(entry, nowMs)) servedKeys.add(key);
    }
    return [...places].flatMap(([key, place]) => (servedKeys.has(key) ? [] : place));
  }

  /** Serves nothing of an application any more. */
  async drop({ name, namespace }: Place): Promise<void> {
    return this.#turns.take(async () => {
      const scope = { name, namespace };
      this.#refusals.delete(keyOf(scope));
      this.#predictors.delete(keyOf(scope));
      this.#planFacts.forget(scope);
      this.#outcomes.forget(scope);
      this.book.forget((entry) => isOf(entry, scope));
      const draft = nothingNew(EVERYTHING);
      await this.#keeper.save(this.#stateAfter(draft), this.#patienceMs);
      await this.#serve(rowsAfter(draft, this.book, this.#refusals));
    });
  }

  /** Decides once more on every service whose override began or ended since, and puts that in force. Resolves once KEDA is answered so. */
  async reconsider(): Promise<void> {
    return this.#turns.take(async () => {
      const draft = nothingNew(EVERYTHING);
      await this.#inSlices(this.book.entries(), (entry) => {
        const redecided = this.#underOverride(entry);
        if (redecided !== undefined) draft.entries.set(entryKey(redecided), redecided);
      });
      if (draft.entries.size === 0) return;
      await this.#saveChanges();
      await this.#keeper.save(this.#stateAfter(draft), this.#patienceMs);
      const events = [...draft.entries.values()].flatMap((entry) => {
        const { namespace, service } = entry.recommendation;
        return decisionEvents(entry, this.book.get(namespace, service));
      });
      if (this.#journal !== undefined) await atMost(this.#patienceMs, this.#journal.append(events));
      for (const [key, refusal] of this.#refusals.get(keyOf(EVERYTHING)) ?? [])
        draft.refusals.set(key, refusal);
      await this.#serve(rowsAfter(draft, this.book, this.#refusals));
      this.book.replace(draft.entries);
    });
  }

  /** The decision made once more under the override that is in force now; undefined where that is the one it was made under. */
  #underOverride(entry: BookEntry): BookEntry | undefined {
    const { decidedMs, json, override: madeUnder, recommendation } = entry;
    const inForce = this.#rules.overrideOf?.(recommendation);
    if (decidedMs === undefined || inForce?.override.id === madeUnder?.id) return undefined;
    const endsAtMs = recommendation.decidedAtMs + Math.round((inForce?.endsMs ?? decidedMs) - decidedMs);
    const override = inForce && asRead(inForce.override, recommendation, endsAtMs);
    const record = decideAgain(JSON.parse(json) as DecisionRecord, override, this.#rules);
    return record && bookEntry(record, decidedMs);
  }

  async #takeNow(plan: TakenPlan, scope: Scope): Promise<void> {
    const draft = nothingNew(scope, plan.header.disruptions);
    this.#follow(plan.header.predictorStartedAtMs, scope);
    await this.#saveChanges();
    await this.#inSlices(plan.wishes, (value) => this.#take(value, plan, draft));
    const events = await this.#planFacts.add(plan.header, draft, {
      book: this.book,
      isValid: (entry) => this.isValid(entry, this.#clock.monotonicMs()),
      inSlices: async (items, visit) => this.#inSlices(items, visit),
    });
    await this.#inSlices(draft.contexts, ([key, context]) => this.#decide(key, context, plan, draft));
    for (const { step } of draft.refusals.values()) if (step !== CONTRACT) this.#counter.guardRefusal(step);
    for (const { guard } of draft.entries.values()) {
      for (const { step } of guard) this.#counter.guardAction(step);
    }
    if (plan.isPartial === true) this.#keepRefusals(draft);
    await this.#keeper.save(this.#stateAfter(draft), this.#patienceMs);
    events.push(...this.#decided(plan.header, draft));
    const settled = [
      this.#journal?.append(events),
      this.#queue?.settle(draft.approvals.values(), plan.header.plannedAtMs),
    ];
    await atMost(this.#patienceMs, Promise.all(settled.filter((each) => each !== undefined)));
    if (plan.isPartial !== true) this.#forget(draft);
    await this.#serve(rowsAfter(draft, this.book, this.#refusals));
    this.book.replace(draft.entries);
    this.#refusals.set(keyOf(scope), draft.refusals);
    // Refusals of a plan of everything, made while there was one application only, are replaced by those of each.
    if (scope !== EVERYTHING) this.#refusals.delete(keyOf(EVERYTHING));
  }

  /** Decisions that changed a size, and what came of earlier ones. */
  #decided(
    { application: name, namespace, plannedAtMs: atMs }: TakenPlan["header"],
    draft: PlanDraft,
  ): AuditEvent[] {
    const openDecisions: OpenDecision[] = [];
    let measured: MeasuredReason | undefined;
    for (const entry of draft.entries.values()) {
      const { namespace: own, reasons = [], service } = entry.recommendation;
      measured ??= reasons.find(isMeasured);
      for (const event of decisionEvents(entry, this.book.get(own, service)))
        openDecisions.push({ event, reasons });
    }
    const { windowEndMs } = draft;
    const outcomes = this.#outcomes.see({ name, namespace }, { measured, windowEndMs, atMs }, openDecisions);
    return [...outcomes, ...openDecisions.map(({ event }) => event)];
  }

  /** Those of the plan before, of services that this one does not name. */
  #keepRefusals({ entries, refusals, scope }: PlanDraft): void {
    for (const [key, refusal] of this.#refusals.get(keyOf(scope)) ?? []) {
      if (!entries.has(key) && !refusals.has(key)) refusals.set(key, refusal);
    }
  }

  #follow(startedAtMs: number, scope: Scope): void {
    const before = this.#predictors.get(keyOf(scope));
    if (before?.startedAtMs === startedAtMs) return;
    const takenMs = before && this.#clock.monotonicMs();
    this.#predictors.set(keyOf(scope), { startedAtMs, ...(takenMs !== undefined && { takenMs }) });
  }

  /**
   * Before decisions that changed a size are replaced on disk by those that keep it. Until then they are in force, and on disk as
   * such: there is nothing more to write when a size changes.
   */
  async #saveChanges(): Promise<void> {
    if (this.#changes === undefined) return;
    // What could not be written is tried again with each plan: no size may change for long.
    const isSaved = this.book.changesRevision === this.#savedRevision && this.#changes.problem === undefined;
    if (isSaved) return;
    this.#savedRevision = this.book.changesRevision;
    await this.#changes.save(this.book.changesJson(MOST_PAST), this.#patienceMs);
  }

  async #inSlices<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void> {
    await forEachInSlices(items, visit, () => this.#clock.monotonicMs());
  }

  #take(value: unknown, plan: TakenPlan, draft: PlanDraft): void {
    const { header } = plan;
    const wish = readWish(value);
    if ("rejected" in wish) {
      const { namespace, service, reason: problem } = wish.rejected;
      this.#counter.wishRejected();
      if (namespace === undefined || service === undefined) return;
      const reason: Reason = { code: "unreadable", problem: problem.slice(0, 500) };
      draft.refusals.set(bookKey(namespace, service), { namespace, service, step: CONTRACT, reason });
      return;
    }
    const { namespace, service } = wish;
    const key = bookKey(namespace, service);
    const { scope } = draft;
    if (scope !== undefined && scope.namespace !== namespace) {
      // Nothing is said of the service either: it is another tenant's.
      this.#counter.wishRejected();
      return;
    }
    const same = draft.contexts.get(key);
    if (same !== undefined) {
      this.#counter.wishRejected();
      if (same.wish.allocation.replicas >= wish.allocation.replicas) return;
    }
    draft.sights.set(service, serviceSight(wish));
    draft.complete &&= wish.observed.complete;
    draft.windowEndMs = Math.max(draft.windowEndMs, wish.inputs.windowEndMs);
    const entryBefore = this.book.get(namespace, service);
    if (entryBefore !== undefined && this.#isNewer(entryBefore, header)) return;
    const past = this.#past(entryBefore, plan, scope);
    const approval = this.#queue?.contextOf(header, wish, entryBefore, past.kept?.approval);
    const disruptions = draft.disruptions.get(service);
    const place = { application: header.application, namespace, service };
    const overridden = this.#rules.overrideOf?.(place);
    const endsAtMs = Math.round((overridden?.endsMs ?? 0) + header.plannedAtMs - plan.madeMs);
    const context = contextOf(wish, header, past, this.#rules, {
      ...this.#planFacts.standing(header, wish, entryBefore),
      ...(disruptions && { disruptions }),
      ...(approval && { approval }),
      ...(overridden && { override: asRead(overridden.override, place, endsAtMs) }),
    });
    const refusal = refusalOf(context);
    if (refusal === undefined) {
      draft.contexts.set(key, context);
      draft.refusals.delete(key);
    } else draft.refusals.set(key, { namespace, service, ...refusal });
  }

  #decide(key: string, context: GuardContext, { header, madeMs }: TakenPlan, draft: PlanDraft): void {
    const { record } = decide(context, header, this.#rules);
    if (record === undefined) return;
    draft.entries.set(key, bookEntry(record, madeMs));
    if (record.context.approval !== undefined) draft.approvals.set(key, record);
  }

  /** What was decided in a silence stands until it expires where the plan from before the silence is given again. */
  #isNewer(before: BookEntry, header: PlanHeader): boolean {
    return isOfSilenceAfter(before, header) && this.isValid(before, this.#clock.monotonicMs());
  }

  /** A decision of the same plan is no start for another one: what it started from itself stands in its place. */
  #past(entryBefore: BookEntry | undefined, { header, madeMs }: TakenPlan, scope: Scope): DecisionPast {
    const onPlansClock = (monotonicMs: number): number =>
      Math.max(0, Math.round(monotonicMs + header.plannedAtMs - madeMs));
    const takenMs = this.#predictors.get(keyOf(scope))?.takenMs;
    const kept = this.#kept(entryBefore, header);
    const starts = {
      ...(kept && { kept }),
      exporterStartedAtMs: onPlansClock(this.#startedMs),
      ...(takenMs !== undefined && { predictorTakenAtMs: onPlansClock(takenMs) }),
    };
    if (entryBefore === undefined) return starts;
    const { basis, decidedMs, final, mode } = entryBefore;
    if (isOfPlan(entryBefore, header)) {
      const { periodStart, previous, previousDecidedAtMs: decidedAtMs } = basis;
      if (previous === undefined || decidedAtMs === undefined) return starts;
      return {
        ...starts,
        previous: { final: previous, decidedAtMs, mode, ...(periodStart && { periodStart }) },
      };
    }
    if (decidedMs === undefined) return starts;
    const period = periodOf(entryBefore, decidedMs);
    const isWithin = period !== undefined && madeMs - period.sinceMs < CHANGE_PERIOD_MS;
    const periodStart = isWithin
      ? { final: period.final, sinceMs: onPlansClock(period.sinceMs) }
      : { final, sinceMs: header.plannedAtMs };
    return { ...starts, previous: { final, decidedAtMs: onPlansClock(decidedMs), mode, periodStart } };
  }

  /** The configuration that the decision in force was made by, where the application's own is not known. */
  #kept(before: BookEntry | undefined, { application }: PlanHeader): KeptConfiguration | undefined {
    if (before?.recommendation.application !== application) return undefined;
    const isUnread = this.#rules.isUnread?.(before.recommendation.namespace, application) === true;
    return isUnread ? before.basis : undefined;
  }

  #stateAfter({ entries }: PlanDraft): string[] {
    const state: string[] = [];
    for (const [key, { json }] of this.book.byService()) if (!entries.has(key)) state.push(json);
    for (const { json } of entries.values()) state.push(json);
    return state;
  }

  /** A service that left the plan is served until its decision expires: the plan may have left it out by mistake. */
  #forget({ entries, refusals, scope }: PlanDraft): void {
    const nowMs = this.#clock.monotonicMs();
    this.book.forget((entry) => {
      if (!isOf(entry, scope) || this.isValid(entry, nowMs)) return false;
      const key = bookKey(entry.recommendation.namespace, entry.recommendation.service);
      return !entries.has(key) && !refusals.has(key);
    });
  }
}

type MeasuredReason = Extract<Reason, { code: "measured" }>;

const isMeasured = (reason: ReadReason): reason is MeasuredReason =>
  reason.code === "measured" && "latencySeconds" in reason;

/** What a decision counted its changes from, and since when, on our monotonic clock. @param decidedMs of the decision, on that clock */
function periodOf(
  { basis, observed, recommendation }: BookEntry,
  decidedMs: number,
): { readonly final: Allocation; readonly sinceMs: number } | undefined {
  const { periodStart, previous } = basis;
  if (periodStart !== undefined) {
    const { final, sinceMs } = periodStart;
    return { final, sinceMs: decidedMs - (recommendation.decidedAtMs - sinceMs) };
  }
  const { replicas } = observed;
  return previous !== undefined || replicas === undefined
    ? undefined
    : { final: { replicas }, sinceMs: decidedMs };
}

/** A predictor whose plans are taken. */
interface FollowedPredictor {
  readonly startedAtMs: number;
  readonly takenMs?: number;
}
