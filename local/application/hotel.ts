import { service } from "./service-definition.ts";
import type { Topology } from "./topology.ts";

/**
 * A hotel-reservation application: the call graph of the well-known benchmark of that name, with its in-memory stores
 * folded into the services. Requests are light, so that two cores serve enough of them to fill containers of 0.2 cores.
 */
export const HOTEL: Topology = {
  name: "hotel",
  entry: "frontend",
  load: "surge.txt",
  services: [
    service("frontend", {
      "GET /hotels": {
        cpuMillis: 0.5,
        stages: [
          [{ service: "search", route: "GET /nearby" }],
          [{ service: "profile", route: "GET /profiles" }],
        ],
      },
      "GET /recommendations": {
        cpuMillis: 0.5,
        stages: [
          [{ service: "recommendation", route: "GET /ranking" }],
          [{ service: "profile", route: "GET /profiles" }],
        ],
      },
      "POST /reservation": {
        cpuMillis: 0.5,
        stages: [
          [{ service: "user", route: "POST /check" }],
          [{ service: "reservation", route: "POST /booking" }],
        ],
      },
      "POST /user": { cpuMillis: 0.5, stages: [[{ service: "user", route: "POST /check" }]] },
    }),
    service("search", {
      "GET /nearby": {
        cpuMillis: 0.8,
        stages: [
          [
            { service: "geo", route: "GET /points" },
            { service: "rate", route: "GET /rates" },
          ],
        ],
      },
    }),
    service("geo", { "GET /points": { cpuMillis: 1.2, stages: [] } }),
    service("rate", { "GET /rates": { cpuMillis: 1.5, stages: [] } }, { memoryBoundRatio: 0.5 }),
    service("profile", { "GET /profiles": { cpuMillis: 1.2, stages: [] } }, { memoryBoundRatio: 0.5 }),
    service("recommendation", { "GET /ranking": { cpuMillis: 1.5, stages: [] } }),
    service("user", { "POST /check": { cpuMillis: 0.5, stages: [] } }),
    service("reservation", { "POST /booking": { cpuMillis: 1.5, stages: [] } }),
  ],
  flows: [
    { route: "GET /hotels", share: 0.6 },
    { route: "GET /recommendations", share: 0.3 },
    { route: "POST /reservation", share: 0.05 },
    { route: "POST /user", share: 0.05 },
  ],
};
