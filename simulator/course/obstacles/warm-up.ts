import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { shop } from "../../applications/course-shop.ts";

export const WARM_UP = obstacle({
  name: "warm-up",
  about:
    "New processes use four times the CPU for their first 90 s (just-in-time compilation), and a surge makes new ones necessary.",
  load: flashCrowd({ base: 40, peak: 100, startSeconds: 480, riseSeconds: 60, holdSeconds: 300 }),
  application: shop((each) => ({ ...each, warmUp: { factor: 4, seconds: 90, shape: "step" } })),
  family: "warm-up",
});
