import { service } from "./service-definition.ts";
import type { Call, Topology } from "./topology.ts";

const PRODUCT: Call = { service: "catalog", route: "GET /product" };
const PRICE: Call = { service: "currency", route: "GET /convert" };
const CART: Call = { service: "cart", route: "GET /cart" };

/**
 * A web shop, shaped as the well-known microservices demonstration of that kind: deep chains with several stages where
 * the hotel has short ones, a service that several others call (`catalog`), an expensive rare route (`POST /checkout`),
 * and a callee that is called several times at once.
 */
export const SHOP: Topology = {
  name: "shop",
  entry: "storefront",
  load: "waves.txt",
  services: [
    service("storefront", {
      "GET /": {
        cpuMillis: 0.6,
        stages: [[PRODUCT, PRICE], [{ service: "ads", route: "GET /ads" }]],
      },
      "GET /product": {
        cpuMillis: 0.6,
        stages: [
          [PRODUCT],
          [PRICE, CART, { service: "recommender", route: "GET /related" }],
          [{ service: "ads", route: "GET /ads" }],
        ],
      },
      "POST /cart": { cpuMillis: 0.4, stages: [[PRODUCT], [{ service: "cart", route: "POST /cart" }]] },
      "POST /checkout": {
        cpuMillis: 0.6,
        stages: [[{ service: "checkout", route: "POST /order" }]],
      },
    }),
    service("catalog", { "GET /product": { cpuMillis: 1, stages: [] } }, { memoryBoundRatio: 0.5 }),
    service("currency", { "GET /convert": { cpuMillis: 0.4, stages: [] } }),
    service("cart", {
      "GET /cart": { cpuMillis: 0.5, stages: [] },
      "POST /cart": { cpuMillis: 0.8, stages: [] },
    }),
    service(
      "recommender",
      { "GET /related": { cpuMillis: 1.6, stages: [[PRODUCT, PRODUCT]] } },
      { memoryBoundRatio: 0.6 },
    ),
    service("ads", { "GET /ads": { cpuMillis: 0.8, stages: [] } }),
    service("checkout", {
      "POST /order": {
        cpuMillis: 3,
        stages: [[CART], [PRODUCT, PRICE], [{ service: "payment", route: "POST /charge" }]],
      },
    }),
    service("payment", { "POST /charge": { cpuMillis: 4, stages: [] } }),
  ],
  flows: [
    { route: "GET /", share: 0.35 },
    { route: "GET /product", share: 0.4 },
    { route: "POST /cart", share: 0.17 },
    { route: "POST /checkout", share: 0.08 },
  ],
};
