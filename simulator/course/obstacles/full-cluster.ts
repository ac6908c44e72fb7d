import { steady, surge } from "../load.ts";
import { obstacle } from "../obstacle.ts";

export const FULL_CLUSTER = obstacle({
  name: "full-cluster",
  about:
    "The nodes take eight cores in all, as under a quota, and a surge wants more: pods that are asked for stay pending.",
  load: surge(steady(50), 2.6, { from: 480, until: 840, ramp: 60 }),
  cluster: { nodes: 4, nodeCores: 2 },
});
