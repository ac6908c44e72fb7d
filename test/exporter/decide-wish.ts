import type { Wish } from "@tradewind/core/contract/plan.ts";
import { contextOf, decide } from "@tradewind/exporter/decide/decide.ts";
import type {
  Decision,
  DecisionPast,
  DecisionRules,
  PlanHeader,
  SharedContext,
} from "@tradewind/exporter/decide/decide.ts";

/** Decides one wish by itself. */
export const decideWish = (
  wish: Wish,
  plan: PlanHeader,
  past: DecisionPast,
  rules: DecisionRules,
  shared?: SharedContext,
): Decision => decide(contextOf(wish, plan, past, rules, shared), plan, rules);
