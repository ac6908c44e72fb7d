import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import type { CostMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { CostSettings } from "@tradewind/predictor/decide/facts/cost-settings.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";

/** Inputs of one run as recorded, in order. What the models had learnt is left out: each replay learns by itself. */
export type Recorded = readonly PolicyInputs[];

/** What a decision asks for of one service. */
export interface Asked {
  readonly replicas: number;
  readonly cpuCores: number;
}

/**
 * Decides on every recorded window again, with the constants that this program was loaded with. What was decided on, and what the
 * platform made of it, stays as recorded; what the models learn of it is carried on.
 * @returns by decision, then service
 */
export function replayed(run: Recorded): Asked[][] {
  const cost = CostSettings.parse({});
  /** Before the window, and after what was decided on it last. */
  let before: CostMemory | undefined;
  let after: CostMemory | undefined;
  let windowMs = Number.NaN;
  return run.map((inputs) => {
    const { settings, state, windowSet } = inputs;
    if (windowSet.endMs !== windowMs) before = after;
    windowMs = windowSet.endMs;
    const { plan, state: next } = decide({
      ...inputs,
      settings: { ...settings, cost },
      state: { ...state, ...(before && { cost: before }) },
    });
    after = next.cost;
    return plan.wishes.map(({ allocation: { cpuCores = 0, replicas } }) => ({ replicas, cpuCores }));
  });
}
