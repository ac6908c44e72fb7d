import type { ApplicationModel, ServiceModel } from "../model/application-model.ts";
import { fixed } from "../model/distribution.ts";
import { all, around, java, node, send, service, store, withReplicas } from "./parts.ts";
import type { Replicas } from "./parts.ts";

/**
 * Sock Shop (Weaveworks, `microservices-demo`): a front-end in Node.js, services in Go and Java, a worker behind a broker. An
 * order reads address, customer, card and cart at once, then pays, then ships, as in `OrdersController.java`; shipping leaves
 * a message for the queue master. The mix, CPU times and those of stores are ours.
 */
export function sockShop(replicas: Replicas = {}): ApplicationModel {
  return {
    name: "sock-shop",
    entry: "front-end",
    services: withReplicas(SERVICES, replicas),
    routes: [
      { name: "GET /catalogue", service: "front-end", operation: "catalogue", share: 0.45 },
      { name: "GET /detail", service: "front-end", operation: "detail", share: 0.3 },
      { name: "GET /cart", service: "front-end", operation: "cart", share: 0.1 },
      { name: "POST /cart", service: "front-end", operation: "add", share: 0.1 },
      { name: "POST /login", service: "front-end", operation: "login", share: 0.03 },
      { name: "POST /orders", service: "front-end", operation: "order", share: 0.02, objectiveMs: 400 },
    ],
    networkMs: fixed(0.3),
  };
}

const SERVICES: readonly ServiceModel[] = [
  service(
    "front-end",
    {
      catalogue: around(3, all("catalogue/list")),
      detail: around(3, all("catalogue/item"), all("carts/items")),
      cart: around(3, all("carts/items")),
      add: around(3, all("catalogue/item"), all("carts/add")),
      login: around(3, all("user/login"), all("carts/merge")),
      order: around(4, all("user/customer"), all("orders/create")),
    },
    node(),
  ),
  service("catalogue", {
    list: around(6, store("catalogue-db", 3)),
    item: around(3, store("catalogue-db", 2)),
  }),
  service(
    "carts",
    {
      items: around(8, store("carts-db", 3)),
      add: around(9, store("carts-db", 4)),
      merge: around(8, store("carts-db", 4)),
    },
    java(),
  ),
  service("user", {
    login: around(5, store("user-db", 3)),
    customer: around(3, store("user-db", 2)),
    address: around(3, store("user-db", 2)),
    card: around(3, store("user-db", 2)),
  }),
  service(
    "orders",
    {
      create: around(
        14,
        all("user/address", "user/customer", "user/card", "carts/items"),
        all("payment/authorise"),
        all("shipping/ship"),
        store("orders-db", 5),
      ),
    },
    java(),
  ),
  service("payment", { authorise: around(2) }),
  service("shipping", { ship: around(6, send("queue-master/ship")) }, java()),
  service("queue-master", { ship: around(30) }, java({ consumer: { concurrency: 4 } })),
];
