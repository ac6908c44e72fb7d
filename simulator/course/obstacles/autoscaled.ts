import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

/** Surges that the nodes are too small for, where another node comes so long after a pod has found none. */
export const AUTOSCALED: readonly ObstacleModel[] = [60, 120].flatMap((startSeconds) =>
  [
    { name: `autoscaled-${startSeconds}`, holdSeconds: 240, seconds: 1_200 },
    { name: `autoscaled-long-${startSeconds}`, holdSeconds: 900, seconds: 1_620 },
  ].map(({ holdSeconds, name, seconds }) =>
    obstacle({
      name,
      about: `A surge of ${holdSeconds} s on three full nodes of two cores; another comes ${startSeconds} s after a pod has found none.`,
      load: flashCrowd({ base: 50, peak: 130, startSeconds: 480, riseSeconds: 60, holdSeconds }),
      cluster: { nodes: 3, nodeCores: 2, nodeAutoscaler: { maxNodes: 20, startSeconds, idleSeconds: 600 } },
      seconds,
    }),
  ),
);
