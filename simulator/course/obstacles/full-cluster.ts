import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleInput } from "../obstacle.ts";

/** Three nodes of two cores, and a surge that wants more than they have for so long. */
const fullFor = (holdSeconds: number): Pick<ObstacleInput, "cluster" | "load"> => ({
  load: flashCrowd({ base: 50, peak: 130, startSeconds: 480, riseSeconds: 60, holdSeconds }),
  cluster: { nodes: 3, nodeCores: 2 },
});

export const FULL_CLUSTER = obstacle({
  name: "full-cluster",
  about:
    "The nodes take six cores in all, as under a quota, and a surge wants more: pods that are asked for stay pending.",
  ...fullFor(240),
});

export const FULL_FOR_LONG = obstacle({
  name: "full-for-long",
  about:
    "The same, for a quarter of an hour: what has more room than it needs is to give it to pods that wait.",
  ...fullFor(900),
  seconds: 1_620,
});
