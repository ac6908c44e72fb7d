import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";
import { MEBIBYTE, shop } from "../../applications/course-shop.ts";

export const MEMORY_LEAK = obstacle({
  name: "memory-leak",
  about:
    "Stock keeps 16 KiB of every request for good, and is killed when it reaches its limit after some minutes.",
  load: steady(USUAL_LOAD),
  application: shop((each) =>
    each.name === "stock"
      ? {
          ...each,
          memory: {
            baseBytes: 120 * MEBIBYTE,
            perRequestBytes: 128 * 1_024,
            leakBytesPerRequest: 16 * 1_024,
          },
        }
      : each,
  ),
});
