import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Brownout } from "@tradewind/core/contract/recommendation.ts";
import { bookKey } from "../../keep/book-entry.ts";
import { chooseBrownouts } from "./choose.ts";
import type { BrownoutChoice, Spare, StarvedService } from "./choose.ts";

/** Node autoscalers add a node within a few minutes: only what waits for longer has no room. */
const NODE_WAIT_MS = 300_000;
/** Latency over objective under which what went down may come back, and in how many plans in a row. */
const CALM_SEVERITY = 0.75;
const CALM_PLANS = 3;
/** A service goes down at most once in this time: with its return two changes an hour. */
const AGAIN_MS = 3_600_000;
/** Services named in one record. */
const MOST_NAMES = 5;

/** What one plan shows, with all that its namespace has. */
export interface BrownoutSight {
  readonly namespace: string;
  readonly application: string;
  readonly nowMs: number;
  /** Of this application. */
  readonly starved: readonly StarvedService[];
  /** Of all applications of the namespace that act. */
  readonly spares: readonly SpareSight[];
  /** Latency over objective of a service of this application; undefined where it is not known, 0 where there is no such service. */
  readonly severityOf: (service: string) => number | undefined;
}

/** `isNeeded`: a route that misses its objective passes through it, and it cannot go down to nothing. */
export type SpareSight = Omit<Spare, "isBrownedOut"> & { readonly isNeeded: boolean };

interface ActiveBrownout {
  readonly application: string;
  readonly service: string;
  readonly namespace: string;
  readonly brownout: Brownout;
  calmPlans: number;
}

/** Which optional services are at their minimum for which others. */
export class Brownouts {
  readonly #active = new Map<string, ActiveBrownout>();
  /** When services went down last, and since when others have had no room. */
  readonly #begunMs = new Map<string, number>();
  readonly #starvedMs = new Map<string, number>();

  of(namespace: string, service: string): Brownout | undefined {
    return this.#active.get(bookKey(namespace, service))?.brownout;
  }

  /** Those that are kept at their minimum for a service, at most five; undefined where none is. */
  madeRoom(
    namespace: string,
    application: string,
    service: string,
  ): { application: string; service: string }[] | undefined {
    const active = [...this.#active.values()].filter(
      ({ brownout: { for: first }, namespace: place }) =>
        place === namespace && first.application === application && first.service === service,
    );
    return active.length === 0
      ? undefined
      : active.slice(0, MOST_NAMES).map((each) => ({ application: each.application, service: each.service }));
  }

  /** Takes what a decision on disk says. */
  recall(place: Pick<ActiveBrownout, "application" | "namespace" | "service">, brownout: Brownout): void {
    const key = bookKey(place.namespace, place.service);
    this.#active.set(key, { ...place, brownout, calmPlans: 0 });
    this.#begunMs.set(key, brownout.sinceMs);
  }

  /** Takes a plan. @returns what begins and what ends with it */
  see(sight: BrownoutSight): AuditEvent[] {
    const ended = this.#end(sight);
    const spares = sight.spares
      .filter((spare) => this.#mayGoDown(sight, spare))
      .map((spare) =>
        Object.assign({ isBrownedOut: this.of(sight.namespace, spare.service) !== undefined }, spare),
      );
    const begun = chooseBrownouts(this.#starvedLongEnough(sight), spares).map((each) =>
      this.#begin(each, sight),
    );
    return [...ended, ...begun];
  }

  /** Nobody goes down any more for an application that is gone, or that carries nothing out. */
  forget({ name, namespace }: { readonly name: string; readonly namespace: string }): void {
    for (const [key, each] of this.#active) {
      const isOf = each.application === name || each.brownout.for.application === name;
      if (each.namespace === namespace && isOf) this.#active.delete(key);
    }
  }

  #mayGoDown({ namespace, nowMs }: BrownoutSight, { isNeeded, service }: SpareSight): boolean {
    const key = bookKey(namespace, service);
    if (this.#active.has(key)) return true;
    return !isNeeded && nowMs - (this.#begunMs.get(key) ?? -Infinity) >= AGAIN_MS;
  }

  #starvedLongEnough({ application, namespace, nowMs, starved }: BrownoutSight): StarvedService[] {
    const prefix = `${namespace}\n${application}\n`;
    const now = new Map(starved.map((each) => [prefix + each.service, each]));
    for (const key of this.#starvedMs.keys())
      if (key.startsWith(prefix) && !now.has(key)) this.#starvedMs.delete(key);
    return [...now].flatMap(([key, each]) => {
      const sinceMs = this.#starvedMs.get(key) ?? nowMs;
      this.#starvedMs.set(key, sinceMs);
      // Of a quota two plans in a row are enough.
      const isLong = each.quota === undefined ? nowMs - sinceMs >= NODE_WAIT_MS : sinceMs < nowMs;
      return isLong ? [each] : [];
    });
  }

  #begin({ for: first, spare }: BrownoutChoice, { namespace, nowMs }: BrownoutSight): AuditEvent {
    const { application, service } = spare;
    const { quota } = first;
    const of = { application: first.application, service: first.service, priority: first.priority };
    const brownout = { for: of, ...(quota !== undefined && { quota }), sinceMs: nowMs };
    this.recall({ application, namespace, service }, brownout);
    return eventOf({ application, namespace, service, brownout, calmPlans: 0 }, "begun", nowMs);
  }

  #end({ application, namespace, nowMs, severityOf }: BrownoutSight): AuditEvent[] {
    const events: AuditEvent[] = [];
    for (const [key, current] of this.#active) {
      const { for: first } = current.brownout;
      if (current.namespace !== namespace || first.application !== application) continue;
      const severity = severityOf(first.service);
      if (severity === undefined) continue;
      current.calmPlans = severity <= CALM_SEVERITY ? current.calmPlans + 1 : 0;
      if (current.calmPlans < CALM_PLANS) continue;
      this.#active.delete(key);
      events.push(eventOf(current, "ended", nowMs));
    }
    return events;
  }
}

function eventOf(
  { application, brownout, namespace, service }: ActiveBrownout,
  state: "begun" | "ended",
  atMs: number,
): AuditEvent {
  const { for: first, quota } = brownout;
  return {
    kind: "brownout",
    application,
    namespace,
    service,
    atMs,
    state,
    for: first,
    ...(quota !== undefined && { quota }),
  };
}
