import type { ApplicationModel, ServiceModel, StepModel } from "../model/application-model.ts";
import { fixed } from "../model/distribution.ts";
import { all, around, java, node, service, store, to, withReplicas } from "./parts.ts";
import type { Replicas } from "./parts.ts";

/** Products on the home page; their prices are converted one after the other. */
const PRODUCTS = 9;
/** Products in a cart that is looked at or paid. */
const CART = 2;

/**
 * Online Boutique (Google, `microservices-demo`). Calls and their order are those of `src/frontend/handlers.go`: all of them
 * one after the other, nine conversions for the home page. The mix is that of `src/loadgenerator/locustfile.py`, requests
 * counted one by one. CPU times and that of the cart's store are ours.
 */
export function onlineBoutique(replicas: Replicas = {}): ApplicationModel {
  return {
    name: "online-boutique",
    entry: "frontend",
    services: withReplicas(SERVICES, replicas),
    routes: [
      { name: "GET /", service: "frontend", operation: "home", share: 1 / 23 },
      { name: "POST /setCurrency", service: "frontend", operation: "currency", share: 2 / 23 },
      { name: "GET /product", service: "frontend", operation: "product", share: 13 / 23 },
      { name: "POST /cart", service: "frontend", operation: "add", share: 3 / 23 },
      { name: "GET /cart", service: "frontend", operation: "cart", share: 3 / 23 },
      { name: "POST /checkout", service: "frontend", operation: "checkout", share: 1 / 23, objectiveMs: 300 },
    ],
    networkMs: fixed(0.3),
  };
}

const times = (count: number, ...steps: readonly StepModel[]): StepModel[] =>
  Array.from({ length: count }, () => steps).flat();

const ad = all(to("ad/get", { optional: true, timeoutMs: 100 }));

const SERVICES: readonly ServiceModel[] = [
  service("frontend", {
    home: around(
      8,
      all("currency/list"),
      all("product-catalog/list"),
      all("cart/get"),
      ...times(PRODUCTS, all("currency/convert")),
      ad,
    ),
    currency: around(1),
    product: around(
      7,
      all("product-catalog/get"),
      all("currency/list"),
      all("cart/get"),
      all("currency/convert"),
      all("recommendation/list"),
      ad,
    ),
    add: around(3, all("product-catalog/get"), all("cart/add")),
    cart: around(
      7,
      all("currency/list"),
      all("cart/get"),
      all("recommendation/list"),
      all("shipping/quote"),
      ...times(CART, all("product-catalog/get"), all("currency/convert")),
    ),
    checkout: around(6, all("checkout/place"), all("recommendation/list"), all("currency/list")),
  }),
  service("checkout", {
    place: around(
      8,
      all("cart/get"),
      ...times(CART, all("product-catalog/get"), all("currency/convert")),
      all("shipping/quote"),
      all("currency/convert"),
      all("payment/charge"),
      all("shipping/ship"),
      all("cart/empty"),
      all("email/confirm"),
    ),
  }),
  service("currency", { list: around(1), convert: around(1.5) }, node()),
  service("product-catalog", { list: around(3), get: around(2) }),
  service("cart", {
    get: around(3, store("redis-cart", 0.7)),
    add: around(3, store("redis-cart", 0.7), store("redis-cart", 0.7)),
    empty: around(2, store("redis-cart", 0.7)),
  }),
  service("recommendation", { list: around(9, all("product-catalog/list")) }),
  service("ad", { get: around(4) }, java()),
  service("shipping", { quote: around(2), ship: around(2) }),
  service("payment", { charge: around(3) }, node()),
  service("email", { confirm: around(6) }),
];
