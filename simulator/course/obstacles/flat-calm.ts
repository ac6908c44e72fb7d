import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleInput } from "../obstacle.ts";

/** Exactly level for ten minutes, then four times as much for five, and back; at even distances, as a load generator sends. */
export const calmThenStep = (requestsPerSecond: number): Pick<ObstacleInput, "arrivals" | "load"> => ({
  load: flashCrowd({
    base: requestsPerSecond,
    peak: 4 * requestsPerSecond,
    startSeconds: 600,
    riseSeconds: 1,
    holdSeconds: 300,
  }),
  arrivals: "even",
});

export const FLAT_CALM = obstacle({
  name: "flat-calm",
  about:
    "Ten minutes of exactly 25 requests a second, then four times as many: in calm nothing tells what requests take of the CPU from what is used anyway.",
  ...calmThenStep(25),
});
