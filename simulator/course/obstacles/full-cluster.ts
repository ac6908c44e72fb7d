import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const FULL_CLUSTER = obstacle({
  name: "full-cluster",
  about:
    "The nodes take six cores in all, as under a quota, and a surge wants more: pods that are asked for stay pending.",
  load: flashCrowd({ base: 50, peak: 130, startSeconds: 480, riseSeconds: 60, holdSeconds: 240 }),
  cluster: { nodes: 3, nodeCores: 2 },
});
