import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { ApprovalContext, Change } from "@tradewind/core/contract/change.ts";
import type { ContainerSize, Wish } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import type { Annotated } from "@tradewind/kubernetes/application/resource.ts";
import type { PlanHeader } from "../decide.ts";
import { SIZE_OF } from "../guard/approval.ts";
import { bookKey } from "../store/book.ts";
import type { BookEntry } from "../store/book.ts";
import { Moves } from "./moves.ts";

const MINUTE_MS = 60_000;
/** How long a change that came to an end is shown. */
const SHOWN_MS = 86_400_000;
/** Who decides where nobody knows more: the API server's own audit log says who wrote it. */
const ANNOTATED = "annotation";
const MOST_CHANGES = 1_000;
/** How far ahead a change may be approved for. */
const MOST_AHEAD_MS = 86_400_000;

/** Writes what happened and the changes as they are now, both or neither. @returns whether it is on disk */
export type WriteChanges = (events: readonly AuditEvent[], changes: readonly Change[]) => boolean;

/** What a person says of a change. */
export interface Verdict {
  readonly verdict: "approve" | "refuse";
  readonly by: string;
  /** Carry it out no sooner. */
  readonly notBeforeMs?: number | undefined;
}

/** Changes that wait for a person, for their time, or that came to an end lately. */
export class ChangeQueue {
  readonly #changes = new Map<string, Change>();
  readonly #moves = new Moves();
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
    return [...this.#changes.values()].toSorted((a, b) => b.proposedAtMs - a.proposedAtMs);
  }

  /** What the guard reads; undefined where every change goes by itself. */
  contextOf(
    { application: name, plannedAtMs }: PlanHeader,
    { namespace, observed, service }: Wish,
    before: BookEntry | undefined,
  ): ApprovalContext | undefined {
    const approval = this.#application(namespace, name)?.approval;
    const { replicasReady, replicasWanted } = observed;
    const replicas = before?.final.replicas ?? replicasWanted ?? replicasReady;
    if (approval === undefined || replicas === undefined) return undefined;
    const openMs = approval.expiresMinutes * MINUTE_MS;
    const key = bookKey(namespace, service);
    return {
      replicasRatio: approval.replicasRatio,
      containerRatio: approval.containerRatio,
      reference: {
        ...sizeOf(observed),
        ...before?.final,
        replicas,
        ...this.#moves.inForceAt(key, plannedAtMs - openMs),
      },
      expiresMs: plannedAtMs + openMs,
      severityBefore: before?.severity ?? 0,
      changes: this.list()
        .filter((each) => bookKey(each.namespace, each.service) === key && counts(each, plannedAtMs))
        .slice(0, 32)
        .map(openPart),
    };
  }

  /** Decides on those that wait and are named in annotations of an Application. */
  takeAnnotations({ approved, refused }: Annotated, nowMs: number): void {
    const decided = (ids: readonly string[], state: "approved" | "refused"): Change[] =>
      ids
        .flatMap((id) => this.#changes.get(id) ?? [])
        .filter((each) => each.state === "awaiting" && isOpen(each, nowMs))
        .map((change): Change => Object.assign({}, change, { state, by: ANNOTATED, decidedAtMs: nowMs }));
    this.#take([...decided(approved, "approved"), ...decided(refused, "refused")], nowMs);
  }

  /** Takes what was decided: new changes wait, those that were reached are executed, and old ones expire. */
  settle(records: Iterable<DecisionRecord>, nowMs: number): void {
    const after: Change[] = [];
    for (const record of records) {
      const key = bookKey(record.namespace, record.service);
      this.#moves.note(key, record.decidedAtMs, record.final);
      after.push(...proposed(record).filter(({ id }) => !this.#changes.has(id)));
      for (const { id, state } of record.context.approval?.changes ?? []) {
        const change = this.#changes.get(id);
        if (state !== "approved" || change?.state !== "approved") continue;
        if (isReached(change, record)) after.push({ ...change, state: "executed" });
      }
    }
    const ended = new Set(after.map(({ id }) => id));
    for (const change of this.#changes.values()) {
      const isOver = isOpen(change, -Infinity) && !isOpen(change, nowMs);
      if (isOver && !ended.has(change.id)) after.push({ ...change, state: "expired" });
    }
    this.#take(after, nowMs);
  }

  /**
   * @throws TradewindError `unknown-change`; `not-awaiting` where it is decided on or expired; `invalid-input` for a time that is too far
   * away; `journal-unusable` where it cannot be written down, and then nothing has changed
   */
  decide(id: string, { by, notBeforeMs, verdict }: Verdict, nowMs: number): Change {
    const change = this.#changes.get(id);
    if (change === undefined) {
      throw new TradewindError(
        "unknown-change",
        `no change has the id '${id}'; tradewind approve lists them`,
      );
    }
    if (change.state !== "awaiting" || change.expiresMs <= nowMs) {
      const state = change.state === "awaiting" ? "expired" : change.state;
      throw new TradewindError("not-awaiting", `change ${id} is ${state}; nothing was changed`);
    }
    const aheadMs = (notBeforeMs ?? nowMs) - nowMs;
    if (aheadMs < 0 || aheadMs > MOST_AHEAD_MS) {
      throw new TradewindError("invalid-input", "the time must lie within the next 24 hours");
    }
    const decided: Change = {
      ...change,
      state: verdict === "approve" ? "approved" : "refused",
      expiresMs: change.expiresMs + aheadMs,
      ...(notBeforeMs !== undefined && { notBeforeMs }),
      by,
      decidedAtMs: nowMs,
    };
    if (this.#take([decided], nowMs)) return decided;
    throw new TradewindError("journal-unusable", "the approval cannot be written down; nothing was changed");
  }

  #take(after: readonly Change[], nowMs: number): boolean {
    if (after.length === 0) return true;
    if (
      !this.#write(
        after.map((change) => eventOf(change, nowMs)),
        after,
      )
    )
      return false;
    for (const change of after) this.#changes.set(change.id, change);
    const old = this.list().filter(({ expiresMs }) => expiresMs <= nowMs - SHOWN_MS);
    for (const { id } of old) this.#changes.delete(id);
    for (const { id } of this.list().slice(MOST_CHANGES)) this.#changes.delete(id);
    return true;
  }
}

const isOpen = ({ expiresMs, state }: Change, nowMs: number): boolean =>
  (state === "awaiting" || state === "approved") && expiresMs > nowMs;

/** One that was refused is not proposed again while it would have stood open. */
const counts = (change: Change, nowMs: number): boolean =>
  isOpen(change, nowMs) || (change.state === "refused" && change.expiresMs > nowMs);

function openPart(change: Change): ApprovalContext["changes"][number] {
  const { expiresMs, from, id, notBeforeMs, resource, state, to } = change;
  return { id, resource, from, to, state, expiresMs, ...(notBeforeMs !== undefined && { notBeforeMs }) };
}

const sizeOf = ({ cpuCores, memoryBytes }: Wish["observed"]): ContainerSize => ({
  ...(cpuCores !== undefined && { cpuCores }),
  ...(memoryBytes !== undefined && { memoryBytes }),
});

function isReached({ from, resource, to }: Change, { final }: DecisionRecord): boolean {
  const now = final[SIZE_OF[resource]];
  return now !== undefined && (to > from ? now >= to : now <= to);
}

/** The change that a decision was held for. */
function proposed({ actions, application, decidedAtMs, namespace, service }: DecisionRecord): Change[] {
  return actions.flatMap(({ reasons = [] }) =>
    reasons.flatMap((reason): Change[] => {
      if (reason.code !== "approval-awaited" || !("change" in reason)) return [];
      const { change: id, expiresMs, from, resource, to } = reason;
      const of = { application, namespace, service, resource, from, to };
      return [{ id, ...of, proposedAtMs: decidedAtMs, expiresMs, state: "awaiting" }];
    }),
  );
}

function eventOf(change: Change, nowMs: number): AuditEvent {
  const { application, by, from, id, namespace, notBeforeMs, resource, service, state, to } = change;
  return {
    kind: "change",
    application,
    namespace,
    service,
    atMs: nowMs,
    change: id,
    state,
    resource,
    from,
    to,
    ...(by !== undefined && { by }),
    ...(notBeforeMs !== undefined && { notBeforeMs }),
  };
}
