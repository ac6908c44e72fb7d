import { Application } from "@tradewind/core/contract/application.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { EpochMs } from "@tradewind/core/contract/quantity.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { z } from "zod";
import type { ServiceQueue } from "../queue/estimate.ts";
import { PolicySettings } from "./settings.ts";
import { PolicyState } from "./state.ts";

/** What an operator may choose: the ladder, the ladder up to queue balancing, or no change. */
export const POLICY_CHOICES = ["auto", "queue", "static"] as const;
export const PolicyChoice = z.enum(POLICY_CHOICES);
export type PolicyChoice = z.infer<typeof PolicyChoice>;

export const INPUTS_SCHEMA = "tradewind.dev/policy-inputs/v1";

/** Everything one decision depends on: equal inputs give equal decisions, bit for bit. */
export const PolicyInputs = z.strictObject({
  schema: z.literal(INPUTS_SCHEMA),
  choice: PolicyChoice,
  application: Application,
  settings: PolicySettings,
  state: PolicyState,
  windowSet: WindowSet,
  nowMs: EpochMs,
});
export type PolicyInputs = z.infer<typeof PolicyInputs>;

/** The part of a plan that a decision determines; the rest says which process published it. */
export type DecidedPlan = Omit<Plan, "schema" | "sequence" | "predictorStartedAtMs">;

export interface PolicyOutcome {
  readonly state: PolicyState;
  readonly plan: DecidedPlan;
  readonly queues: readonly ServiceQueue[];
}
