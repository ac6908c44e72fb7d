import { PLAN_SCHEMA } from "@tradewind/core/contract/plan.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { DecidedPlan } from "./policy/inputs.ts";

/** The last plan and its window, ready to be sent: asking costs no serialisation. */
export class Published {
  private readonly startedAtMs: number;
  private sequence = 0;
  private current: { readonly plan: Plan; readonly planText: string } | undefined;
  private windowSet: WindowSet | undefined;
  private windowText: string | undefined;

  constructor(startedAtMs: number) {
    this.startedAtMs = startedAtMs;
  }

  publish(decided: DecidedPlan, windowSet: WindowSet): Plan {
    this.sequence += 1;
    const plan: Plan = {
      schema: PLAN_SCHEMA,
      sequence: this.sequence,
      predictorStartedAtMs: this.startedAtMs,
      ...decided,
    };
    this.current = { plan, planText: JSON.stringify(plan) };
    this.windowSet = windowSet;
    this.windowText = undefined;
    return plan;
  }

  plan(): Plan | undefined {
    return this.current?.plan;
  }

  planText(): string | undefined {
    return this.current?.planText;
  }

  windowsText(): string | undefined {
    if (this.windowSet !== undefined) this.windowText ??= JSON.stringify(this.windowSet);
    return this.windowText;
  }
}
