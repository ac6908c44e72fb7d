import { ANNOTATION_NAME } from "@tradewind/core/net/access-tokens.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { ApprovalContext, CalendarChange, Change, SizeChange } from "@tradewind/core/contract/change.ts";
import type { Calendar } from "@tradewind/core/contract/calendar.ts";
import type { Allocation, Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { fairlyCut } from "@tradewind/core/net/fair-share.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { Turns } from "@tradewind/core/process/turns.ts";
import type { Annotated } from "@tradewind/kubernetes/application/resource.ts";
import type { PlanHeader } from "../decide.ts";
import { isLargeChange, SIZE_OF } from "../guard/approval.ts";
import { bookKey, isOfPlan } from "../../keep/book-entry.ts";
import type { BookEntry } from "../../keep/book-entry.ts";
import { Moves } from "./moves.ts";

const MINUTE_MS = 60_000;
/** How long a change that came to an end is shown. */
const SHOWN_MS = 86_400_000;
const MOST_CHANGES = 1_000;
/** Rows that wait for a disk that refuses them; the oldest are given up first. */
const MOST_UNWRITTEN = 1_000;
/** How long a calendar that was learned waits for a person, and when one that was refused may be proposed again. */
const CALENDAR_OPEN_MS = 7 * 86_400_000;
/** One that plans have not named for so long is withdrawn. */
const WITHDRAWN_MS = 86_400_000;
/** A floor is worth a person's look from so many replicas more than usual on. */
const LEAST_MORE = 2;
const CALENDAR_AGAIN_MS = 30 * 86_400_000;
/** How far ahead a change may be approved for. */
const MOST_AHEAD_MS = 86_400_000;

/** Writes what happened and the changes as they are now, both or neither. @returns whether it is on disk, once that is known */
export type WriteChanges = (events: readonly AuditEvent[], changes: readonly Change[]) => Promise<boolean>;

/** A plan, as far as it says what was learned. */
export type LearnedHeader = Pick<Plan, "application" | "namespace" | "plannedAtMs"> &
  Partial<Pick<Plan, "learnedCalendars">>;

/** A plan, as far as it says what was asked for. */
export type AskedHeader = Pick<Plan, "application" | "namespace" | "plannedAtMs"> &
  Partial<Pick<Plan, "askedChanges">>;

/** Where an application states none: shares from which on a model's change waits for a person, and how long. */
const DEFAULT_APPROVAL = { replicasRatio: 0.5, containerRatio: 0.5, expiresMinutes: 15 };
/** Where changes of plans wait for nobody. */
const NO_APPROVAL = { ...DEFAULT_APPROVAL, replicasRatio: 1e9, containerRatio: 1e9 };

/** An application, as its changes name it. */
type Place = Pick<Change, "application" | "namespace">;

/** A change as it is now, and the audit event of how it became so. */
interface ChangeStep {
  readonly change: Change;
  readonly event: AuditEvent;
}

/** What a person says of a change. */
export interface Verdict {
  readonly verdict: "approve" | "refuse";
  /** Name of the token that was shown. */
  readonly by: string;
  /** What was said beside it. */
  readonly note?: string;
  /** Carry it out no sooner. */
  readonly notBeforeMs?: number | undefined;
}

/** Changes that wait for a person, for their time, or that came to an end lately. */
export class ChangeQueue {
  readonly #changes = new Map<string, Change>();
  readonly #moves = new Moves();
  /** Since when plans have not named a learned calendar, by its id. */
  readonly #unnamedSinceMs = new Map<string, number>();
  /** What is written depends on what was written before. */
  readonly #turns = new Turns();
  /** What the disk has not taken yet, the oldest first. */
  #unwritten: readonly ChangeStep[] = [];
  readonly #write: WriteChanges;
  readonly #application: (namespace: string, name: string) => Application | undefined;

  /** @param changes as they were written */
  constructor(
    changes: readonly Change[],
    write: WriteChanges,
    application: (namespace: string, name: string) => Application | undefined,
  ) {
    for (const change of changes) this.#changes.set(change.id, change);
    this.#write = write;
    this.#application = application;
  }

  /** Newest first. */
  list(): Change[] {
    return [...this.#changes.values()].toSorted(newestFirst);
  }

  /**
   * What the guard reads; undefined where every change goes by itself.
   * @param keptApproval what counts while the application's configuration is not known
   */
  contextOf(
    header: PlanHeader,
    { namespace, observed, service }: Wish,
    entryBefore: BookEntry | undefined,
    keptApproval?: ApprovalContext,
  ): ApprovalContext | undefined {
    const { plannedAtMs } = header;
    const configured = this.#application(namespace, header.application);
    const key = bookKey(namespace, service);
    const ofService = [...this.#changes.values()]
      .filter((each) => each.kind === "size")
      .filter((each) => each.service === service && each.namespace === namespace)
      .toSorted(newestFirst);
    const stated =
      configured === undefined ? keptApproval && settingsOf(keptApproval, entryBefore) : configured.approval;
    const asked = ofService.find((each) => isAtLeast(each, plannedAtMs));
    const approval = stated ?? (asked && NO_APPROVAL);
    const { last, samePlan } = beforeOf(entryBefore, header);
    const inForce = last?.mode === "act" ? last.final : undefined;
    const running = runningOf(observed);
    const replicas = samePlan?.reference.replicas ?? inForce?.replicas ?? running.replicas;
    if (approval === undefined || replicas === undefined) return undefined;
    const openMs = approval.expiresMinutes * MINUTE_MS;
    return {
      replicasRatio: approval.replicasRatio,
      containerRatio: approval.containerRatio,
      reference: samePlan?.reference ?? {
        ...running,
        ...inForce,
        replicas,
        ...this.#moves.inForceAt(key, plannedAtMs - openMs),
      },
      expiresMs: plannedAtMs + openMs,
      severityBefore: samePlan?.severityBefore ?? last?.severity ?? 0,
      changes: ofService.flatMap((each) => partOf(each, plannedAtMs, samePlan) ?? []).slice(0, 32),
    };
  }

  /** Calendars of an application that were learned and approved. */
  calendarsOf(namespace: string, application: string): Calendar[] {
    return this.#learned(namespace, application)
      .filter(({ state }) => state === "approved")
      .map(({ calendar }) => calendar);
  }

  /**
   * Takes the calendars that a plan's predictor has learned: new ones wait, and those that it names no longer are withdrawn. One that was refused
   * or expired is not proposed again before it is a month old. A plan without them says nothing.
   */
  async takeLearned({ application, learnedCalendars, namespace, plannedAtMs }: LearnedHeader): Promise<void> {
    if (learnedCalendars === undefined) return;
    const learnedByName = new Map(
      this.#learned(namespace, application).map((each) => [each.calendar.name, each]),
    );
    const namedCalendars = new Set(learnedCalendars.map(({ calendar }) => calendar.name));
    const isOver = ({ proposedAtMs, state }: Change): boolean =>
      state === "withdrawn" || plannedAtMs - proposedAtMs > CALENDAR_AGAIN_MS;
    const fresh = learnedCalendars
      .filter(({ calendar: { floor, name }, usualReplicas }) => {
        if ((floor?.replicas ?? 0) < usualReplicas + LEAST_MORE) return false;
        const last = learnedByName.get(name);
        return last === undefined || (!isOpen(last, plannedAtMs) && isOver(last));
      })
      .map((each): Change => {
        const id = contentHash([namespace, application, each.calendar.name, plannedAtMs]).slice(0, 10);
        const of = { kind: "calendar" as const, id, application, namespace, state: "awaiting" as const };
        const times = { proposedAtMs: plannedAtMs, expiresMs: plannedAtMs + CALENDAR_OPEN_MS };
        return Object.assign(of, each, times);
      });
    const gone = [...learnedByName.values()]
      .filter((each) => isOpen(each, plannedAtMs) && this.#isUnnamed(each, namedCalendars, plannedAtMs))
      .map((each): Change => Object.assign({}, each, { state: "withdrawn" as const }));
    await this.#keep([...fresh, ...gone], plannedAtMs);
  }

  /**
   * Takes the changes that a plan's predictor was asked for: new ones wait for a person. Where the application says so a small one of the
   * predictor's own language model does not.
   */
  async takeAsked({ application, askedChanges = [], namespace, plannedAtMs }: AskedHeader): Promise<void> {
    const configured = this.#application(namespace, application);
    const settings = configured?.approval ?? DEFAULT_APPROVAL;
    const fresh = askedChanges.flatMap((each): SizeChange[] => {
      const { asked, id, isOfModel, notBeforeMs, ...sizes } = each;
      const change: SizeChange = {
        kind: "size",
        id,
        application,
        namespace,
        ...sizes,
        asked,
        proposedAtMs: plannedAtMs,
        expiresMs: Math.max(plannedAtMs, notBeforeMs ?? 0) + settings.expiresMinutes * MINUTE_MS,
        state: "awaiting",
        ...(notBeforeMs !== undefined && { notBeforeMs }),
      };
      if (sizes.to <= sizes.from || this.#isKnown(change, plannedAtMs)) return [];
      const goesAlone = isOfModel && configured?.reasoner === "act" && !isLargeChange(sizes, settings);
      return [goesAlone ? { ...change, state: "approved", by: asked.by, decidedAtMs: plannedAtMs } : change];
    });
    await this.#keep(fresh, plannedAtMs);
  }

  /** A gap in the data of a service is no reason to withdraw its calendars. */
  #isUnnamed({ calendar, id }: CalendarChange, named: ReadonlySet<string>, nowMs: number): boolean {
    if (named.has(calendar.name)) {
      this.#unnamedSinceMs.delete(id);
      return false;
    }
    const sinceMs = this.#unnamedSinceMs.get(id) ?? nowMs;
    this.#unnamedSinceMs.set(id, sinceMs);
    return nowMs - sinceMs >= WITHDRAWN_MS;
  }

  /** The newest of each name last. */
  #learned(namespace: string, application: string): CalendarChange[] {
    return this.list()
      .reverse()
      .filter((each) => each.kind === "calendar")
      .filter((each) => each.namespace === namespace && each.application === application);
  }

  /**
   * Decides on the waiting changes of an application that its annotations name. Ids of changes of other applications have no effect.
   * @param of the application whose annotations they are
   */
  async takeAnnotations(of: Place, annotated: Annotated, nowMs: number): Promise<void> {
    await this.#turns.take(async () => this.#takeAnnotations(of, annotated, nowMs));
  }

  async #takeAnnotations(
    { application, namespace }: Place,
    { approved, refused }: Annotated,
    nowMs: number,
  ): Promise<void> {
    const decidedChanges = (ids: readonly string[], state: "approved" | "refused"): Change[] =>
      ids
        .flatMap((id) => this.#changes.get(id) ?? [])
        .filter((each) => each.application === application && each.namespace === namespace)
        .filter((each) => each.state === "awaiting" && isOpen(each, nowMs))
        .map((change): Change =>
          Object.assign({}, change, { state, by: ANNOTATION_NAME, decidedAtMs: nowMs }),
        );
    await this.#take([...decidedChanges(approved, "approved"), ...decidedChanges(refused, "refused")], nowMs);
  }

  /**
   * Takes decisions of the process before, as far as they are known: what was in force when, and which changes they carried out. That process may
   * have ended before it wrote these down.
   */
  recall(records: readonly DecisionRecord[]): void {
    for (const record of records.toSorted((a, b) => a.decidedAtMs - b.decidedAtMs)) {
      this.#note(record);
      const after = this.#carriedOut(record);
      for (const change of after) this.#changes.set(change.id, change);
      this.#unwritten = [...this.#unwritten, ...happened(after, record.decidedAtMs)];
    }
  }

  #carriedOut(record: DecisionRecord): Change[] {
    return (record.context.approval?.changes ?? []).flatMap(({ id, state }): Change[] => {
      const change = this.#changes.get(id);
      if (state !== "approved" || change?.state !== "approved" || change.kind !== "size") return [];
      return isReached(change, record) ? [{ ...change, state: "executed" }] : [];
    });
  }

  #note({ context, decidedAtMs, final, namespace, service, wish }: DecisionRecord): void {
    const running = runningOf(wish.observed);
    const inForce = (context.mode ?? "act") === "act" ? final : running;
    this.#moves.note(bookKey(namespace, service), decidedAtMs, inForce, running);
  }

  /**
   * Takes what was decided: new changes wait, those that were reached are executed, and old ones expire. That is in force at once, whatever
   * the disk says. Resolves once it is written, or the disk has refused it.
   */
  async settle(records: Iterable<DecisionRecord>, nowMs: number): Promise<void> {
    const changesAfter: Change[] = [];
    for (const record of records) {
      this.#note(record);
      changesAfter.push(...proposed(record).filter((change) => !this.#isKnown(change, nowMs)));
      changesAfter.push(...this.#carriedOut(record));
    }
    const ended = new Set(changesAfter.map(({ id }) => id));
    for (const change of this.#changes.values()) {
      const isOver = isOpen(change, -Infinity) && !isOpen(change, nowMs);
      if (isOver && !ended.has(change.id)) changesAfter.push({ ...change, state: "expired" });
    }
    await this.#keep(changesAfter, nowMs);
  }

  /** The same step may have been proposed by a plan before whose change was not written yet when this one was decided. */
  #isKnown({ from, id, namespace, resource, service, to }: SizeChange, nowMs: number): boolean {
    if (this.#changes.has(id)) return true;
    return this.list().some(
      (each) =>
        each.kind === "size" &&
        bookKey(each.namespace, each.service) === bookKey(namespace, service) &&
        each.resource === resource &&
        each.to > each.from === to > from &&
        counts(each, nowMs),
    );
  }

  /**
   * @throws TradewindError `unknown-change`; `not-awaiting` where it is decided on or expired; `invalid-input` for a time that is too far
   * away; `journal-unusable` where it cannot be written down, and then nothing has changed
   */
  async decide(id: string, verdict: Verdict, nowMs: number): Promise<Change> {
    return this.#turns.take(async () => this.#decide(id, verdict, nowMs));
  }

  async #decide(id: string, { by, note, notBeforeMs, verdict }: Verdict, nowMs: number): Promise<Change> {
    const change = this.#changes.get(id);
    if (change === undefined) throw unknownChange(id);
    if (change.state !== "awaiting" || change.expiresMs <= nowMs) {
      const state = change.state === "awaiting" ? "expired" : change.state;
      throw new TradewindError("not-awaiting", `change ${id} is ${state}; nothing was changed`);
    }
    const aheadMs = (notBeforeMs ?? nowMs) - nowMs;
    if (aheadMs < 0 || aheadMs > MOST_AHEAD_MS) {
      throw new TradewindError("invalid-input", "the time must lie within the next 24 hours");
    }
    if (change.kind === "calendar" && notBeforeMs !== undefined) {
      throw new TradewindError(
        "invalid-input",
        "a calendar says by itself when it holds; leave out the time",
      );
    }
    const decidedChange: Change = Object.assign({}, change, {
      state: verdict === "approve" ? ("approved" as const) : ("refused" as const),
      expiresMs:
        aheadMs + (isOfAsked(change) ? nowMs + change.expiresMs - change.proposedAtMs : change.expiresMs),
      ...(notBeforeMs !== undefined && { notBeforeMs }),
      by,
      ...(note !== undefined && { note }),
      decidedAtMs: nowMs,
    });
    if (await this.#take([decidedChange], nowMs)) return decidedChange;
    throw new TradewindError("journal-unusable", "the approval cannot be written down; nothing was changed");
  }

  /** Takes what a person decided, once it is written. @returns false where it cannot be, and then nothing has changed */
  async #take(after: readonly Change[], nowMs: number): Promise<boolean> {
    if (after.length === 0) return true;
    if (!(await this.#append(happened(after, nowMs)))) return false;
    this.#put(after, nowMs);
    return true;
  }

  /** Takes what no person decided. What the disk refuses is written with the next append. */
  async #keep(after: readonly Change[], nowMs: number): Promise<void> {
    this.#put(after, nowMs);
    this.#unwritten = [...this.#unwritten, ...happened(after, nowMs)].slice(-MOST_UNWRITTEN);
    await this.#turns.take(async () => this.#append([]));
  }

  /** Writes this after all that is still to be written. */
  async #append(more: readonly ChangeStep[]): Promise<boolean> {
    const all = [...this.#unwritten, ...more];
    if (all.length === 0) return true;
    const [events, changes] = [all.map(({ event }) => event), all.map(({ change }) => change)];
    if (!(await this.#write(events, changes))) return false;
    const written = new Set(all);
    this.#unwritten = this.#unwritten.filter((each) => !written.has(each));
    return true;
  }

  #put(after: readonly Change[], nowMs: number): void {
    for (const change of after) this.#changes.set(change.id, change);
    for (const change of this.list()) if (!isShown(change, nowMs)) this.#changes.delete(change.id);
    const ended = this.list().filter((change) => !isOpen(change, nowMs));
    const shown = new Set(fairlyCut(ended, ({ namespace }) => namespace, MOST_CHANGES));
    for (const change of ended) if (!shown.has(change)) this.#changes.delete(change.id);
  }
}

export const unknownChange = (id: string): TradewindError =>
  new TradewindError("unknown-change", `no change has the id '${id}'; tradewind approve lists them`);

const happened = (after: readonly Change[], nowMs: number): ChangeStep[] =>
  after.map((change) => ({ change, event: eventOf(change, nowMs) }));

/** The settings that a decision was held by. Its change expires as long after it as they say. */
function settingsOf(
  { containerRatio, expiresMs, replicasRatio }: ApprovalContext,
  of: BookEntry | undefined,
): Application["approval"] {
  const openMs = of === undefined ? 0 : expiresMs - of.recommendation.decidedAtMs;
  return { containerRatio, replicasRatio, expiresMinutes: openMs / MINUTE_MS };
}

const isOpen = ({ expiresMs, kind, state }: Change, nowMs: number): boolean =>
  (state === "awaiting" && expiresMs > nowMs) ||
  (state === "approved" && (kind === "calendar" || expiresMs > nowMs));

/** A calendar that was decided on is known for as long as it is not to be proposed again. */
const isShown = (change: Change, nowMs: number): boolean =>
  isOpen(change, nowMs) ||
  (change.kind === "calendar"
    ? change.proposedAtMs > nowMs - CALENDAR_AGAIN_MS
    : change.expiresMs > nowMs - SHOWN_MS);

/** One that was refused is not proposed again while it would have stood open. */
const counts = (change: Change, nowMs: number): boolean =>
  isOpen(change, nowMs) || (change.state === "refused" && change.expiresMs > nowMs);

/** One that was asked for holds as long as it would have stood open, once somebody decided. */
const isOfAsked = (change: Change): boolean => change.kind === "size" && change.asked !== undefined;

/** What was asked for and carried out is the least until it expires. */
const isAtLeast = ({ asked, expiresMs, state }: SizeChange, nowMs: number): boolean =>
  asked !== undefined && expiresMs > nowMs && (state === "approved" || state === "executed");

const newestFirst = (a: Change, b: Change): number => b.proposedAtMs - a.proposedAtMs;

/** What a service was given by this very plan, or by the one before it. */
function beforeOf(entryBefore: BookEntry | undefined, header: PlanHeader) {
  const isAgain = entryBefore !== undefined && isOfPlan(entryBefore, header);
  return isAgain ? { samePlan: entryBefore.basis.approval } : { last: entryBefore };
}

/** What the guard is to know of a change; nothing where it neither waits nor holds. */
function partOf(
  change: SizeChange,
  plannedAtMs: number,
  samePlan: ApprovalContext | undefined,
): ApprovalContext["changes"][number] | undefined {
  // One that the same plan carried out is carried out by it.
  const carriedOut = change.state === "executed" && samePlan?.changes.find(({ id }) => id === change.id);
  if (carriedOut) return carriedOut;
  return counts(change, plannedAtMs) || isAtLeast(change, plannedAtMs) ? openPart(change) : undefined;
}

function openPart(change: SizeChange): ApprovalContext["changes"][number] {
  const { asked, expiresMs, from, id, notBeforeMs, resource, state, to } = change;
  const part = { id, resource, from, to, state, expiresMs };
  return { ...part, ...(notBeforeMs !== undefined && { notBeforeMs }), ...(asked && { asked }) };
}

function runningOf({
  cpuCores,
  memoryBytes,
  replicasReady,
  replicasWanted = replicasReady,
}: Wish["observed"]): Partial<Allocation> {
  return {
    ...(replicasWanted !== undefined && { replicas: replicasWanted }),
    ...(cpuCores !== undefined && { cpuCores }),
    ...(memoryBytes !== undefined && { memoryBytes }),
  };
}

function isReached({ from, resource, to }: SizeChange, { final }: DecisionRecord): boolean {
  const now = final[SIZE_OF[resource]];
  return now !== undefined && (to > from ? now >= to : now <= to);
}

/** The change that a decision was held for. */
function proposed({ actions, application, decidedAtMs, namespace, service }: DecisionRecord): SizeChange[] {
  return actions.flatMap(({ reasons = [] }) =>
    reasons.flatMap((reason): SizeChange[] => {
      if (reason.code !== "approval-awaited" || !("change" in reason)) return [];
      const { change: id, expiresMs, from, resource, to } = reason;
      const of = { kind: "size" as const, application, namespace, service, resource, from, to };
      return [{ id, ...of, proposedAtMs: decidedAtMs, expiresMs, state: "awaiting" }];
    }),
  );
}

function eventOf(change: Change, nowMs: number): AuditEvent {
  const { application, by, id, namespace, note, service, state } = change;
  const event = {
    application,
    namespace,
    service,
    atMs: nowMs,
    change: id,
    state,
    ...(by !== undefined && { by }),
    ...(note !== undefined && { note }),
  };
  if (change.kind === "calendar") {
    const { floor, name } = change.calendar;
    return { kind: "calendar", ...event, calendar: name, floorReplicas: floor?.replicas ?? 0 };
  }
  const { from, notBeforeMs, resource, to } = change;
  return { kind: "change", ...event, resource, from, to, ...(notBeforeMs !== undefined && { notBeforeMs }) };
}
