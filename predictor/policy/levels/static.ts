import type { Target } from "../target.ts";
import type { Level } from "./level.ts";

const CHOSEN = { code: "static-policy" } as const;

/** What the platform wants now, whatever the latency. */
export const STATIC: Level = {
  choices: ["static"],
  decide: ({ observations }) => ({
    reasons: [CHOSEN],
    decision: {
      policy: "static",
      targets: new Map(
        observations.map(({ service, window, baseReplicas }): [string, Target] => {
          const replicas = window?.replicasWanted ?? window?.replicasReady ?? baseReplicas;
          return [
            service,
            {
              replicas,
              policy: "static",
              reasons: [CHOSEN, { code: "replicas", fromReplicas: replicas, toReplicas: replicas }],
            },
          ];
        }),
      ),
    },
  }),
};
