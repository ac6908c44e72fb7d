import type { Target } from "../target.ts";
import type { Level } from "./level.ts";

/** What the platform wants now, whatever the latency. */
export const STATIC: Level = {
  choices: ["static"],
  decide: ({ observations }) => ({
    reason: "the operator chose the static policy",
    decision: {
      policy: "static",
      targets: new Map(
        observations.map(({ service, window, baseReplicas }): [string, Target] => {
          const replicas = window?.replicasWanted ?? window?.replicasReady ?? baseReplicas;
          return [
            service,
            { replicas, policy: "static", reason: `keeps the ${replicas} that the platform wants` },
          ];
        }),
      ),
    },
  }),
};
