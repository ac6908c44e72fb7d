import { fixed } from "../../model/distribution.ts";
import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";
import { cpu, shop, wait, work } from "../../applications/course-shop.ts";

const SHOP = shop((each) =>
  each.name === "front"
    ? {
        ...each,
        operations: { ...each.operations, export: [cpu(work(4)), wait("warehouse", fixed(3_000))] },
      }
    : each,
);

export const SLOW_ENDPOINT = obstacle({
  name: "slow-endpoint",
  about:
    "Three requests of a hundred ask for an export that waits 3 s for a warehouse: no pod makes it faster.",
  load: steady(USUAL_LOAD),
  application: {
    ...SHOP,
    routes: [
      { name: "GET /", service: "front", operation: "serve", share: 0.97 },
      // Nobody expects an export within 150 ms; the contenders are told of one objective only.
      { name: "GET /export", service: "front", operation: "export", share: 0.03, objectiveMs: 5_000 },
    ],
  },
});
