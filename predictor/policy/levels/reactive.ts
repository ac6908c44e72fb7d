import { cpuGap } from "../facts.ts";
import { floorTarget } from "../floor.ts";
import type { Level } from "./level.ts";

/** At least the replicas that CPU demand needs; never fewer than now. */
export const REACTIVE: Level = {
  choices: ["auto", "queue"],
  decide(facts) {
    const gap = cpuGap(facts);
    if (gap.length > 0) return { reasons: gap };
    return {
      reasons: [{ code: "cpu-only" }],
      decision: {
        policy: "reactive",
        targets: new Map(
          facts.observations.map((one) => [one.service, floorTarget(one, facts.context.settings)]),
        ),
      },
    };
  },
};
