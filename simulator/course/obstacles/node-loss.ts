import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";

export const NODE_LOSS = obstacle({
  name: "node-loss",
  about: "One of three nodes is lost with all its pods, which are replaced 40 s later.",
  load: steady(USUAL_LOAD),
  cluster: { nodes: 3 },
  incidents: [{ kind: "node-loss", atSeconds: 600, node: 1 }],
});
