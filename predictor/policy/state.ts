import type { z } from "zod";
import { CostMemory } from "../decide/state.ts";
import { POLICY_STATE_SCHEMA, Remembered } from "../facts/state.ts";

/** Everything the policies carry from one window to the next; kept on disk. */
export const PolicyState = Remembered.extend({ cost: CostMemory.optional() });
export type PolicyState = z.infer<typeof PolicyState>;

export function emptyState(application: string, namespace: string): PolicyState {
  return {
    schema: POLICY_STATE_SCHEMA,
    application,
    namespace,
    calmWindows: 0,
    missedWindows: 0,
    patienceDoublings: 0,
    services: [],
  };
}
