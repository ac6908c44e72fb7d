import { heldTarget } from "../floor.ts";
import type { Level } from "./level.ts";

/** Nothing is known, nothing changes. */
export const HOLD: Level = {
  choices: ["auto", "queue"],
  decide: ({ observations }) => ({
    reasons: [],
    decision: {
      policy: "hold",
      targets: new Map(observations.map((one) => [one.service, heldTarget(one)])),
    },
  }),
};
