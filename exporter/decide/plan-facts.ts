import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { Brownout, RoomShare } from "@tradewind/core/contract/recommendation.ts";
import { Brownouts } from "./brownout/brownouts.ts";
import { seeBrownouts } from "./brownout/sight.ts";
import type { SharedContext } from "./decide.ts";
import { guard } from "./guard/guard.ts";
import type { GuardContext } from "./guard/step.ts";
import type { PlanDraft } from "./plan-draft.ts";
import { Rollbacks } from "./rollback/rollbacks.ts";
import { PodSizes, sharesOf } from "./quota/claims.ts";
import { bookKey, measuredOf } from "../keep/book-entry.ts";
import type { BookEntry, ServiceNeed } from "../keep/book-entry.ts";
import type { DecisionBook } from "../keep/book.ts";

/** What of a plan is looked at as a whole. */
type PlanOutline = Pick<
  Plan,
  "application" | "failedRatio" | "measuredLatencySeconds" | "namespace" | "plannedAtMs" | "room"
> &
  Partial<Pick<Plan, "objective" | "policyReasons">>;

/** The decisions in force, and how a long list is gone through. */
export interface PlanSurroundings {
  readonly book: Pick<DecisionBook, "entries" | "get">;
  /** Whether a decision may still be served. */
  readonly isValid: (entry: BookEntry) => boolean;
  readonly inSlices: <Item>(items: Iterable<Item>, visit: (item: Item) => void) => Promise<void>;
}

/**
 * The facts of a plan as a whole, worked out before the guard takes its steps: changes that did harm, what the quotas of the namespace leave
 * each service, and which optional services go down for others.
 */
export class PlanFacts {
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

  /** What earlier plans began and still holds for a service. */
  standing(
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

  /** Adds the facts of the plan to what the guard reads of each service. @returns what begins or ends with this plan */
  async add(header: PlanOutline, draft: PlanDraft, surroundings: PlanSurroundings): Promise<AuditEvent[]> {
    const isNew = this.#isNewWindow(header, draft);
    const rolledBack = isNew ? this.#rollBack(header, draft) : [];
    return [...rolledBack, ...(await this.#shareRoom(header, draft, surroundings, isNew))];
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

  /** What quotas of the namespace leave each service that is to grow, and optional ones that go down for others. @returns brownouts that begin or end */
  async #shareRoom(
    header: PlanOutline,
    { contexts }: PlanDraft,
    { book, inSlices, isValid }: PlanSurroundings,
    isNew: boolean,
  ): Promise<AuditEvent[]> {
    const { application: name, namespace, room } = header;
    if (room === undefined && !isNew) return [];
    const [application, sizes] = [this.#applicationOf, this.#podSizes];
    sizes.note(namespace, room?.pods ?? []);
    const otherNeeds = [...book.entries()].filter((entry) => {
      const { mode, recommendation } = entry;
      const isOther = recommendation.namespace === namespace && recommendation.application !== name;
      return mode === "act" && isOther && isValid(entry);
    });
    const ownNeeds: ServiceNeed[] = [];
    await inSlices(contexts.values(), (context) => {
      if (context.wish.namespace === namespace) ownNeeds.push(needOf(name, context));
    });
    const shares: ReadonlyMap<string, RoomShare> =
      room === undefined ? new Map() : sharesOf(room, [...otherNeeds, ...ownNeeds], sizes, application);
    const facts = new Map<string, SharedContext>(
      [...shares].map(([service, share]) => [service, { room: share }]),
    );
    const isHeld = (service: string): boolean =>
      !contexts.has(bookKey(namespace, service)) && book.get(namespace, service) !== undefined;
    const sight = { header, own: ownNeeds, others: otherNeeds, isHeld, shares, sizes, application };
    const events = isNew ? seeBrownouts(this.#brownouts, sight) : [];
    for (const { service } of events) {
      const brownout = this.#brownouts.of(namespace, service);
      // What goes down claims no room.
      if (brownout !== undefined) facts.set(service, { brownout });
    }
    for (const [service, fact] of facts) addFact(contexts, bookKey(namespace, service), fact);
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
    { application, namespace, objective }: PlanOutline,
    { sights, windowEndMs }: PlanDraft,
  ): boolean {
    if (sights.size === 0 || objective === undefined) return false;
    const key = applicationKey({ namespace, name: application });
    const isNew = this.#judgedWindowMs.get(key) !== windowEndMs;
    this.#judgedWindowMs.set(key, windowEndMs);
    return isNew;
  }

  /** Watches what became of earlier changes, and keeps what ran before one that did harm. */
  #rollBack(header: PlanOutline, { complete, contexts, sights }: PlanDraft): AuditEvent[] {
    const { application, namespace, objective, plannedAtMs } = header;
    // Without a measurement no change can be judged; without a decision it is not known whether the application acts.
    if (objective === undefined || contexts.size === 0) return [];
    if ([...contexts.values()].every(({ mode }) => mode !== "act")) {
      this.#rollbacks.forget({ namespace, name: application });
      return [];
    }
    const events = this.#rollbacks.see({ ...header, objective }, { complete, services: sights });
    for (const { service } of events) {
      const rollback = this.#rollbacks.of({ namespace, service }, undefined, plannedAtMs);
      if (rollback !== undefined) addFact(contexts, bookKey(namespace, service), { rollback });
    }
    return events;
  }
}

function addFact(contexts: PlanDraft["contexts"], key: string, fact: SharedContext): void {
  const context = contexts.get(key);
  if (context !== undefined) contexts.set(key, { ...context, ...fact });
}

/** It asks for what the guard would leave it without the facts of this plan. */
function needOf(application: string, context: GuardContext): ServiceNeed {
  const { mode = "act", wish } = context;
  const { namespace, service } = wish;
  const { final = wish.allocation } = guard(context);
  return {
    recommendation: { application, namespace, service },
    mode,
    asked: final.replicas,
    ...measuredOf(wish),
  };
}
