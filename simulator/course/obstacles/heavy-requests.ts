import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { cpu, shop, work } from "../../applications/course-shop.ts";

export const HEAVY_REQUESTS = obstacle({
  name: "heavy-requests",
  about:
    "Profile needs half a CPU second for a request that one thread works on: quota beyond one core is of no use to it.",
  load: wave(4, 12, 600),
  application: shop((each) =>
    each.name === "profile"
      ? {
          ...each,
          operations: { serve: [cpu(work(500))] },
          container: { ...each.container, cpuRequestCores: 2, cpuLimitCores: 2 },
          replicas: 3,
        }
      : each,
  ),
  objectiveMs: 1_500,
  family: "heavy-requests",
});
