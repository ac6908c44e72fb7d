import { balanceQueues } from "../balance/queue-balancing.ts";
import { latencyGap } from "../facts.ts";
import type { Level } from "./level.ts";

/** Replicas by the queues of the services, on top of what CPU demand needs. */
export const QUEUE: Level = {
  choices: ["auto", "queue"],
  decide(facts) {
    const gap = latencyGap(facts);
    if (gap.length > 0) return { reasons: gap };
    const { reasons, ...balanced } = balanceQueues(facts.context, facts.observations, facts.verdict);
    return { reasons, decision: { policy: "queue", ...balanced } };
  },
};
