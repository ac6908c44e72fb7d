import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { Rollback } from "@tradewind/core/contract/recommendation.ts";
import { factsIn } from "@tradewind/core/contract/reasons.ts";
import { severityOf } from "@tradewind/core/contract/standing.ts";
import { bookKey } from "../../keep/book-entry.ts";
import type { BookEntry } from "../../keep/book-entry.ts";
import { HarmWatch } from "./watch.ts";
import type { ServiceSight, Sight, Spending } from "./watch.ts";

/** How long what ran before a harmful change is kept; twice as long after each further one. */
const HOLD_MS = 30 * 60_000;
const MOST_DOUBLINGS = 4;
/** A service without harm for so long begins with the shortest hold again. */
const FORGET_MS = 86_400_000;

type Header = Pick<
  Plan,
  "application" | "failedRatio" | "measuredLatencySeconds" | "namespace" | "objective" | "plannedAtMs"
> &
  Partial<Pick<Plan, "policyReasons">>;

/** Watches the changes of all applications, and keeps what ran before those that did harm. */
export class Rollbacks {
  readonly #watches = new Map<string, HarmWatch>();
  readonly #held = new Map<string, Rollback>();

  /** Takes what a plan's wishes say. @returns what is rolled back from now on */
  see(header: Header, { complete, services }: Pick<Sight, "complete" | "services">): AuditEvent[] {
    const { application, namespace, plannedAtMs } = header;
    const severity = severityOf(header);
    const key = applicationKey({ namespace, name: application });
    const watch = this.#watches.get(key) ?? new HarmWatch();
    this.#watches.set(key, watch);
    const spending = spendingOf(header.policyReasons);
    const harms = watch.see({ atMs: plannedAtMs, severity, complete, services, spending });
    return harms.map(({ before, service }): AuditEvent => {
      const { times, untilMs } = this.#hold(bookKey(namespace, service), before, plannedAtMs);
      const of = { application, namespace, service };
      return Object.assign({ kind: "rollback" as const, atMs: plannedAtMs, before, times, untilMs }, of);
    });
  }

  /** What the guard keeps of a service. */
  of(
    { namespace, service }: Pick<Wish, "namespace" | "service">,
    before: BookEntry | undefined,
    nowMs: number,
  ): Rollback | undefined {
    const key = bookKey(namespace, service);
    const held = this.#held.get(key) ?? before?.rollback;
    if (held === undefined) return undefined;
    // After a restart it is known from the decision on disk.
    this.#held.set(key, held);
    return held.untilMs > nowMs ? held : undefined;
  }

  /** An application that is gone. */
  forget(place: { readonly namespace: string; readonly name: string }): void {
    this.#watches.delete(applicationKey(place));
  }

  #hold(key: string, before: Rollback["before"], nowMs: number): Rollback {
    const last = this.#held.get(key);
    const isRecent = last !== undefined && nowMs - last.untilMs < FORGET_MS;
    const times = isRecent ? last.times + 1 : 1;
    const holdMs = HOLD_MS * 2 ** Math.min(MOST_DOUBLINGS, times - 1);
    const held = { before, times, untilMs: nowMs + holdMs };
    this.#held.set(key, held);
    return held;
  }
}

/** Undefined where the level that decided counts no error budget. */
function spendingOf(reasons: Plan["policyReasons"]): Spending | undefined {
  const budget = factsIn(reasons, "error-budget");
  if (budget === undefined) return undefined;
  return {
    recentRatio: budget.recentRatio,
    plannedRatio: budget.useRatio * budget.allowedRatio,
    expectedRatio: factsIn(reasons, "expected-misses")?.overRatio ?? 0,
  };
}

/** What is remembered of a service in a window. */
export function serviceSight({ evidence, observed }: Wish): ServiceSight {
  const { cpuCores, lastStartedAtMs, memoryBytes, replicasReady, replicasWanted } = observed;
  const replicas = replicasWanted ?? replicasReady;
  return {
    running: {
      ...(replicas !== undefined && { replicas }),
      ...(cpuCores !== undefined && { cpuCores }),
      ...(memoryBytes !== undefined && { memoryBytes }),
    },
    requestsPerSecond: evidence["requestsPerSecond"],
    interference: evidence["interferenceCpu"],
    youngestStartMs: lastStartedAtMs,
  };
}
