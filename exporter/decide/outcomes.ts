import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { ReadReason, Reason } from "@tradewind/core/contract/reason.ts";
import { factsOfReasons, sentenceOf } from "@tradewind/core/contract/reasons.ts";

type DecisionEvent = Extract<AuditEvent, { kind: "decision" }>;
type ReasonOf<Code extends Reason["code"]> = Extract<Reason, { code: Code }>;

/** Windows after which it is said what came of a decision. */
const WINDOWS = 3;
/** Decisions of one application that wait for that: as many as its services change in those windows. */
const MOST_OPEN = 10_000;

/** What was decided, and what was expected of it. */
export interface OpenDecision {
  readonly event: DecisionEvent;
  readonly reasons: readonly ReadReason[];
}

/** As much of it as is kept until its outcome is known. */
interface KeptDecision extends Pick<
  DecisionEvent,
  "application" | "decisionId" | "mode" | "namespace" | "service"
> {
  readonly expected: ReasonOf<"expected"> | undefined;
}

interface WatchedApplication {
  windowEndMs: number;
  open: { readonly decision: KeptDecision; windows: number }[];
}

/** Says of each decision that changed a size what was measured three windows later. A restart of the scaler forgets those that are open. */
export class Outcomes {
  readonly #applications = new Map<string, WatchedApplication>();

  /**
   * @param measured of the window, where it measured anything
   * @param openDecisions with the plan of that window
   */
  see(
    place: { readonly namespace: string; readonly name: string },
    {
      measured,
      windowEndMs,
      atMs,
    }: { measured: ReasonOf<"measured"> | undefined; windowEndMs: number; atMs: number },
    openDecisions: readonly OpenDecision[],
  ): AuditEvent[] {
    const key = applicationKey(place);
    const watched = this.#applications.get(key) ?? { windowEndMs: 0, open: [] };
    this.#applications.set(key, watched);
    const events: AuditEvent[] = [];
    if (measured !== undefined && windowEndMs > watched.windowEndMs) {
      watched.windowEndMs = windowEndMs;
      for (const each of watched.open) each.windows += 1;
      const due = watched.open.filter(({ windows }) => windows >= WINDOWS);
      watched.open = watched.open.filter(({ windows }) => windows < WINDOWS);
      events.push(...due.map(({ decision }) => outcomeEvent(decision, measured, atMs)));
    }
    watched.open.push(...openDecisions.map((decision) => ({ decision: keptOf(decision), windows: 0 })));
    watched.open = watched.open.slice(-MOST_OPEN);
    return events;
  }

  forget(place: { readonly namespace: string; readonly name: string }): void {
    this.#applications.delete(applicationKey(place));
  }
}

function keptOf({ event, reasons }: OpenDecision): KeptDecision {
  const { application, decisionId, mode, namespace, service } = event;
  const expected = reasons.find(
    (reason): reason is ReasonOf<"expected"> => reason.code === "expected" && "expectedSeconds" in reason,
  );
  return { application, decisionId, mode, namespace, service, expected };
}

function outcomeEvent(
  { application, decisionId, expected, mode, namespace, service }: KeptDecision,
  measured: ReasonOf<"measured">,
  atMs: number,
): AuditEvent {
  const outcome: ReasonOf<"outcome"> = {
    ...measured,
    code: "outcome",
    windows: WINDOWS,
    mode,
    ...(expected && {
      wasExpectedSeconds: expected.expectedSeconds,
      wasExpectedLowSeconds: expected.expectedLowSeconds,
      wasExpectedHighSeconds: expected.expectedHighSeconds,
    }),
  };
  const code = measured.latencySeconds > measured.objectiveSeconds ? "outcome-missed" : "outcome-met";
  return {
    kind: "outcome",
    application,
    namespace,
    service,
    atMs,
    decisionId,
    outcome: { code, text: sentenceOf(outcome), facts: factsOfReasons([outcome]) },
  };
}
