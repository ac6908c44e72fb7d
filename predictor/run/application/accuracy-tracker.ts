import type { Accuracy, CauseJudgement, CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import { accuracyOf, judgementsOf, rightOfJudged, withJudgements } from "../../answers/reason/accuracy.ts";
import type { AccuracyState } from "../../answers/reason/accuracy.ts";
import { causeByChange, NOTHING_WATCHED, watchChange } from "../../answers/reason/executed-changes.ts";
import type { ChangeWatch, SizedWindow } from "../../answers/reason/executed-changes.ts";

/** Told as accuracy changes. */
export interface AccuracyEvents {
  readonly keep: (state: AccuracyState) => void;
  readonly onJudged?: ((judgement: CauseJudgement) => void) | undefined;
  /** A counterfactual was carried out, with the outcome that the models expected or another. */
  readonly onExecuted?: ((agreed: boolean) => void) | undefined;
}

/** How often causes were right that were named: by people, by injected faults, and by changes that were carried out. */
export class AccuracyTracker {
  readonly #events: AccuracyEvents;
  #state: AccuracyState;
  #watch: ChangeWatch = NOTHING_WATCHED;

  constructor(restored: AccuracyState, events: AccuracyEvents) {
    this.#state = restored;
    this.#events = events;
  }

  /** The clock was set, or windows are missing: nothing is awaited. */
  clear(): void {
    this.#watch = NOTHING_WATCHED;
  }

  /** Somebody says what the cause was. */
  label(judged: Explanation, { service, source, type }: Omit<CauseLabel, "fromMs" | "toMs">): void {
    this.#judge(judged, { service, source, ...(type !== undefined && { type }) });
  }

  /** Takes a window with its sizes. @param find the kept explanation of a time */
  window(window: SizedWindow, find: (atMs: number) => Explanation | undefined): void {
    const { executed, watch } = watchChange(this.#watch, window);
    this.#watch = watch;
    if (executed === undefined) return;
    const { atMs, expected, observed } = executed;
    if (expected !== undefined) {
      const { agreed, differed } = this.#state.executed;
      const isAgreed = expected === observed;
      this.#adopt({
        ...this.#state,
        executed: isAgreed ? { agreed: agreed + 1, differed } : { agreed, differed: differed + 1 },
      });
      this.#events.onExecuted?.(isAgreed);
    }
    const service = causeByChange(executed);
    const judged = find(atMs);
    if (service !== undefined && judged !== undefined) this.#judge(judged, { service, source: "verified" });
  }

  accuracy(of: Pick<Accuracy, "application" | "namespace">): Accuracy {
    return accuracyOf(this.#state, of);
  }

  /** Undefined where nothing was judged yet. */
  get right(): ReturnType<typeof rightOfJudged> {
    return rightOfJudged(this.#state.judgements);
  }

  /** What an explanation was judged by. */
  judgementOf(atMs: number, reasoner: string): CauseJudgement | undefined {
    return this.#state.judgements.find((each) => each.atMs === atMs && each.reasoner === reasoner);
  }

  #judge(explanation: Explanation, truth: Pick<CauseJudgement, "service" | "source" | "type">): void {
    const added = judgementsOf(explanation, truth);
    this.#adopt(withJudgements(this.#state, added));
    for (const each of added) this.#events.onJudged?.(each);
  }

  #adopt(state: AccuracyState): void {
    this.#state = state;
    this.#events.keep(state);
  }
}
