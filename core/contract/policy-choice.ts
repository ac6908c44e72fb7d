import { z } from "zod";

/** What an operator may choose: the cheapest sizes by one cost, the levels up to queue balancing, or no change. */
export const POLICY_CHOICES = ["auto", "queue", "static"] as const;

/** What to say of a choice that earlier releases had; undefined of any other text. */
export function removedChoice(choice: unknown): string | undefined {
  return choice === "plan" ? "policy 'plan' was removed; use 'auto'" : undefined;
}

export const PolicyChoice = z.enum(POLICY_CHOICES, { error: ({ input }) => removedChoice(input) });
export type PolicyChoice = z.infer<typeof PolicyChoice>;
