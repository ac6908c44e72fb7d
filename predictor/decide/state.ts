import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { z } from "zod";
import { CostMemory } from "./cost/learn/state.ts";
import { POLICY_STATE_SCHEMA, RememberedState } from "./facts/state.ts";

/** Everything the policies carry from one window to the next; kept on disk. */
export const PolicyState = RememberedState.extend({ cost: CostMemory.optional() });
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

/** Windows follow each other when not even half of one lies between them. */
const GAP_SHARE = 0.5;

/**
 * The state as it counts for a window: after a gap (a restart) nothing that needs windows in a row holds any more, neither
 * calm nor trends.
 */
export function afterGap(state: PolicyState, { startMs, endMs }: WindowSet): PolicyState {
  if (state.windowEndMs === undefined || startMs - state.windowEndMs < GAP_SHARE * (endMs - startMs))
    return state;
  const { flows: _flows, ...rest } = state;
  return {
    ...rest,
    calmWindows: 0,
    missedWindows: 0,
    services: state.services.map(({ memoryPeaks, platformWanted, replicas, seenAtMs, service }) => ({
      service,
      replicas,
      seenAtMs,
      ...(memoryPeaks && { memoryPeaks }),
      ...(platformWanted !== undefined && { platformWanted }),
    })),
  };
}
