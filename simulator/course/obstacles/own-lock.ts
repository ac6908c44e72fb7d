import { fixed } from "../../model/distribution.ts";
import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { call, cpu, shop, to, work } from "../../applications/course-shop.ts";

/** A tenth of the CPU of a pod is enough for what its lock lets through. */
export const OWN_LOCK = obstacle({
  name: "own-lock",
  about:
    "Requests of search hold a lock of their pod for 25 ms, without a span and without CPU; from eight minutes on there are three times as many.",
  load: flashCrowd({ base: 25, peak: 75, startSeconds: 480, riseSeconds: 10, holdSeconds: 500 }),
  application: shop((each) =>
    each.name === "search"
      ? {
          ...each,
          threads: 64,
          pools: { lock: 1 },
          operations: {
            serve: [
              cpu(work(2)),
              { kind: "wait", dependency: "lock", time: fixed(25), traced: false, pool: "lock" },
              call(to("price"), to("stock")),
            ],
          },
        }
      : each,
  ),
  objectiveMs: 300,
});
