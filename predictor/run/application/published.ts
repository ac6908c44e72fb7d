import type { Clock } from "@tradewind/core/process/clock.ts";
import { PLAN_SCHEMA } from "@tradewind/core/contract/plan.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { DecidedPlan } from "../../decide/inputs.ts";

/** As many reasons as a plan may name. */
const MOST_MISSING = 16;

/** The last plan and its window, ready to be sent: asking costs no serialisation. */
export class Published {
  private readonly startedAtMs: number;
  private readonly clock: Clock;
  private sequence = 0;
  private current:
    | {
        readonly plan: Plan;
        readonly planText: string;
        readonly headerText: string;
        readonly tag: string;
        /** When it was published, by the monotonic clock. */
        readonly atMs: number;
      }
    | undefined;
  private windowSet: WindowSet | undefined;
  private windowText: string | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
    this.startedAtMs = clock.nowMs();
  }

  /** @param facts what readers must know besides: whether traffic was missing, and what the plan is for */
  publish(
    decided: DecidedPlan,
    windowSet: WindowSet,
    facts: Pick<
      Plan,
      | "askedChanges"
      | "complete"
      | "missing"
      | "mode"
      | "cause"
      | "disruptions"
      | "learnedCalendars"
      | "patterns"
      | "room"
      | "students"
      | "unmapped"
    > = {},
  ): Plan {
    this.sequence += 1;
    const plan: Plan = {
      schema: PLAN_SCHEMA,
      sequence: this.sequence,
      predictorStartedAtMs: this.startedAtMs,
      windowSeconds: (windowSet.endMs - windowSet.startMs) / 1e3,
      ...facts,
      ...decided,
    };
    this.current = {
      plan,
      planText: JSON.stringify(plan),
      headerText: JSON.stringify({ ...plan, wishes: [] }),
      tag: `"${this.startedAtMs}-${this.sequence}"`,
      atMs: this.clock.monotonicMs(),
    };
    this.windowSet = windowSet;
    this.windowText = undefined;
    return plan;
  }

  /**
   * Says until the next plan that traffic is not seen, so that readers take another predictor's plan if that one sees it.
   * @param missing what is not seen, and why
   */
  doubt(missing: string): void {
    if (this.current === undefined) return;
    const { plan } = this.current;
    const doubted: Plan = {
      ...plan,
      complete: false,
      missing: [...(plan.missing ?? []).slice(0, MOST_MISSING - 1), missing],
      wishes: [],
    };
    this.current = { ...this.current, headerText: JSON.stringify(doubted) };
  }

  plan(): Plan | undefined {
    return this.current?.plan;
  }

  /** Time since the plan was published, seconds; undefined before the first. Has nothing to do with the wall clock. */
  ageSeconds(): number | undefined {
    return this.current && (this.clock.monotonicMs() - this.current.atMs) / 1e3;
  }

  planText(): string | undefined {
    return this.current?.planText;
  }

  /** The plan without its wishes: enough to choose among predictors. */
  headerText(): string | undefined {
    return this.current?.headerText;
  }

  /** Entity tag of the plan, quotes included: equal tags, equal plans. */
  planTag(): string | undefined {
    return this.current?.tag;
  }

  /** What the plan was decided on. */
  windows(): WindowSet | undefined {
    return this.windowSet;
  }

  windowsText(): string | undefined {
    if (this.windowSet !== undefined) this.windowText ??= JSON.stringify(this.windowSet);
    return this.windowText;
  }
}
