import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const FULL_CLUSTER = obstacle({
  name: "full-cluster",
  about:
    "The nodes take six cores in all, as under a quota, and a surge wants more: pods that are asked for stay pending.",
  load: flashCrowd({ base: 50, peak: 130, startSeconds: 480, riseSeconds: 60, holdSeconds: 240 }),
  cluster: { nodes: 3, nodeCores: 2 },
});

export const FULL_FOR_LONG = obstacle({
  name: "full-for-long",
  about:
    "The same, for a quarter of an hour: what has more room than it needs is to give it to pods that wait.",
  load: flashCrowd({ base: 50, peak: 130, startSeconds: 480, riseSeconds: 60, holdSeconds: 900 }),
  cluster: { nodes: 3, nodeCores: 2 },
  seconds: 1_620,
});
