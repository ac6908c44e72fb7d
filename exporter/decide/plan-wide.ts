import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { Brownout, RoomShare } from "@tradewind/core/contract/recommendation.ts";
import { Brownouts } from "./brownout/brownouts.ts";
import { seeBrownouts } from "./brownout/sight.ts";
import type { SharedContext } from "./decide.ts";
import type { PlanDraft } from "./plan-draft.ts";
import { Rollbacks } from "./rollback/rollbacks.ts";
import { PodSizes, sharesOf } from "./quota/claims.ts";
import { bookKey } from "../keep/book-entry.ts";
import type { BookEntry } from "../keep/book-entry.ts";
import type { DecisionBook } from "../keep/book.ts";

/** What of a plan is looked at as a whole. */
type WholePlan = Pick<
  Plan,
  "application" | "failedRatio" | "measuredLatencySeconds" | "namespace" | "plannedAtMs" | "room"
> &
  Partial<Pick<Plan, "objective">>;

/** How a service is decided on once more. */
export interface SecondLook {
  readonly book: Pick<DecisionBook, "entries" | "get">;
  /** Whether a decision may still be served. */
  readonly isValid: (entry: BookEntry) => boolean;
  readonly decideAgain: (entry: BookEntry, more: SharedContext) => void;
  readonly inSlices: <Item>(items: Iterable<Item>, visit: (item: Item) => void) => Promise<void>;
}

/**
 * What can be said of a plan only as a whole, once each of its services was decided on by itself: changes that did harm, what the quotas
 * of the namespace leave each service, and which optional services go down for others.
 */
export class PlanWide {
  readonly #applicationOf: (namespace: string, name: string) => Application | undefined;
  readonly #podSizes = new PodSizes();
  readonly #rollbacks = new Rollbacks();
  readonly #brownouts = new Brownouts();
  /** End of the window by which changes were judged last, by application. */
  readonly #judgedWindowMs = new Map<string, number>();

  /** @param applicationOf finds the configuration of an application */
  constructor(applicationOf: (namespace: string, name: string) => Application | undefined) {
    this.#applicationOf = applicationOf;
  }

  /** What was begun before and still holds for a service, for its first decision. */
  of(
    { application, plannedAtMs }: Pick<Plan, "application" | "plannedAtMs">,
    wish: Pick<Wish, "namespace" | "service">,
    before: BookEntry | undefined,
  ): Pick<SharedContext, "brownout" | "madeRoom" | "rollback"> {
    const rollback = this.#rollbacks.of(wish, before, plannedAtMs);
    const brownout = this.#brownoutOf(application, wish);
    const madeRoom = this.#brownouts.madeRoom(wish.namespace, application, wish.service);
    return {
      ...(brownout && { brownout }),
      ...(madeRoom && { madeRoom }),
      ...(rollback && { rollback }),
    };
  }

  /** Decides again on the services that this is about. @returns what begins or ends with this plan */
  async see(header: WholePlan, draft: PlanDraft, look: SecondLook): Promise<AuditEvent[]> {
    const isNew = this.#isNewWindow(header, draft);
    const rolledBack = isNew ? this.#rollBack(header, draft, look) : [];
    return [...rolledBack, ...(await this.#shareRoom(header, draft, look, isNew))];
  }

  /** Takes what a decision on disk says. */
  recall(place: Parameters<Brownouts["recall"]>[0], brownout: Brownout): void {
    this.#brownouts.recall(place, brownout);
  }

  /** An application that is gone. */
  forget(place: { readonly namespace: string; readonly name: string }): void {
    this.#judgedWindowMs.delete(applicationKey(place));
    this.#brownouts.forget(place);
    this.#rollbacks.forget(place);
  }

  /**
   * Decides again on services for which a quota of the namespace has no room, on those that come before them, and on optional ones that go
   * down for others. @returns brownouts that begin or end
   */
  async #shareRoom(
    header: WholePlan,
    draft: PlanDraft,
    { book, decideAgain, inSlices, isValid }: SecondLook,
    isNew: boolean,
  ): Promise<AuditEvent[]> {
    const { application, namespace, room } = header;
    if (room === undefined && !isNew) return [];
    const sizes = this.#podSizes;
    sizes.note(namespace, room?.pods ?? []);
    const others = [...book.entries()].filter((entry) => {
      const { mode, recommendation: each } = entry;
      const isOther = each.namespace === namespace && each.application !== application;
      return mode === "act" && isOther && isValid(entry);
    });
    const own = [...draft.entries.values()].filter(
      ({ recommendation: each }) => each.namespace === namespace,
    );
    const find = this.#applicationOf;
    const shares =
      room === undefined ? new Map<string, RoomShare>() : sharesOf(room, [...others, ...own], sizes, find);
    await inSlices(shares, ([service, share]) => {
      const entry = draft.entries.get(bookKey(namespace, service));
      if (entry !== undefined) decideAgain(entry, { room: share });
    });
    const isHeld = (service: string): boolean =>
      !draft.entries.has(bookKey(namespace, service)) && book.get(namespace, service) !== undefined;
    const seen = { header, own, others, isHeld, shares, sizes, application: find };
    const events = isNew ? seeBrownouts(this.#brownouts, seen) : [];
    for (const { service } of events) {
      const entry = draft.entries.get(bookKey(namespace, service));
      const brownout = this.#brownouts.of(namespace, service);
      if (entry !== undefined && brownout !== undefined) decideAgain(entry, { brownout });
    }
    return events;
  }

  /** Undefined where its application says no longer that it is optional. */
  #brownoutOf(
    application: string,
    { namespace, service }: Pick<Wish, "namespace" | "service">,
  ): Brownout | undefined {
    const brownout = this.#brownouts.of(namespace, service);
    const own = brownout && this.#applicationOf(namespace, application);
    return own && serviceSpecs(own)(service).optional ? brownout : undefined;
  }

  /**
   * Of a surge plans are made of the window before once more: that is no second window in a row. Plans without wishes are of no window, and
   * those of a silence measured no latency.
   */
  #isNewWindow(
    { application, namespace, objective }: WholePlan,
    { sights, windowEndMs }: PlanDraft,
  ): boolean {
    if (sights.size === 0 || objective === undefined) return false;
    const key = applicationKey({ namespace, name: application });
    const isNew = this.#judgedWindowMs.get(key) !== windowEndMs;
    this.#judgedWindowMs.set(key, windowEndMs);
    return isNew;
  }

  /** Watches what became of earlier changes, and decides again on services of which one did harm. */
  #rollBack(header: WholePlan, draft: PlanDraft, { decideAgain }: SecondLook): AuditEvent[] {
    const { application, namespace, objective, plannedAtMs } = header;
    // Nothing was measured that changes could be judged by.
    if (objective === undefined) return [];
    // Nothing was decided: whether the application acts is not known.
    if (draft.entries.size === 0) return [];
    const isActing = [...draft.entries.values()].some(({ mode }) => mode === "act");
    if (!isActing) {
      this.#rollbacks.forget({ namespace, name: application });
      return [];
    }
    const events = this.#rollbacks.see(
      { ...header, objective },
      { complete: draft.complete, services: draft.sights },
    );
    for (const { service } of events) {
      const entry = draft.entries.get(bookKey(namespace, service));
      const rollback = this.#rollbacks.of({ namespace, service }, entry, plannedAtMs);
      if (entry !== undefined && rollback !== undefined) decideAgain(entry, { rollback });
    }
    return events;
  }
}
