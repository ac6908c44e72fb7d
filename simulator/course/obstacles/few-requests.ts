import { steady } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { cpu, shop, work } from "../../applications/course-shop.ts";

/** Health checks, timers and collectors: ten a second of 3 ms each in two services, 30 millicores for each. */
const TICKED = ["search", "cart"];
const SHOP = shop((each) =>
  TICKED.includes(each.name) ? { ...each, operations: { ...each.operations, tick: [cpu(work(3))] } } : each,
);

export const FEW_REQUESTS = obstacle({
  name: "few-requests",
  about:
    "Five requests a second, and housekeeping in two services that uses as much CPU: CPU a request says nothing of the next one.",
  load: steady(25),
  application: {
    ...SHOP,
    routes: [
      { name: "GET /", service: "front", operation: "serve", share: 0.2 },
      ...TICKED.map((service) => ({
        name: `tick ${service}`,
        service,
        operation: "tick",
        share: 0.4,
        objectiveMs: 60_000,
      })),
    ],
  },
  internalRoutes: TICKED.map((service) => `tick ${service}`),
  seconds: 1_800,
});
