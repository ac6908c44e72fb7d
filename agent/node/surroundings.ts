import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

/** What the agent needs from outside besides its options; tests put their own in. */
export interface AgentSurroundings {
  readonly clock: Clock;
  readonly log: Logger;
  readonly rng: Rng;
  /** Collects garbage now; called now and then by a process that wants to stay small. */
  readonly collectGarbage: () => void;
}
