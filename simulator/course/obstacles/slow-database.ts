import { lognormal } from "../../model/distribution.ts";
import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";
import { call, cpu, shop, to, wait, work } from "../../applications/course-shop.ts";

export const SLOW_DATABASE = obstacle({
  name: "slow-database",
  about:
    "A database that every request waits for answers four times slower for twenty minutes: more CPU does not help.",
  load: steady(USUAL_LOAD),
  application: shop((each) =>
    each.name === "search"
      ? {
          ...each,
          operations: {
            serve: [cpu(work(7)), wait("database", lognormal(22, 0.6)), call(to("price"), to("stock"))],
          },
        }
      : each,
  ),
  incidents: [
    { kind: "slow-dependency", atSeconds: 420, untilSeconds: 1_620, dependency: "database", factor: 4 },
  ],
  seconds: 1_920,
});
