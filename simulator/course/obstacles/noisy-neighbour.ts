import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";

export const NOISY_NEIGHBOUR = obstacle({
  name: "noisy-neighbour",
  about: "Other tenants slow down everything on half of the nodes by 60 % for five minutes.",
  load: steady(USUAL_LOAD),
  cluster: { nodes: 4 },
  incidents: [
    {
      kind: "interference",
      atSeconds: 480,
      untilSeconds: 780,
      nodes: [0, 1],
      factor: 1.6,
      cpu: 0.6,
      memoryBandwidth: 0.5,
    },
  ],
});
