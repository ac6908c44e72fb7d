import type { ApplicationModel, ServiceModel, StepModel } from "../model/application-model.ts";
import { fixed } from "../model/distribution.ts";
import { all, around, java, service, store, to, withReplicas } from "./parts.ts";
import type { Replicas } from "./parts.ts";

/** Trains that a search finds on one line. */
const TRIPS = 3;

/**
 * Train Ticket (Zhou et al., Fudan University): forty services in Java, deep and mostly sequential chains. The steps of a
 * booking are those of `PreserveServiceImpl.java`: security, contacts, trip, two stations, price, seat, order, then what was
 * chosen beside it, then user and notification; the other graphs follow the services' names and duties. The mix, CPU times and
 * those of stores are ours.
 */
export function trainTicket(replicas: Replicas = {}): ApplicationModel {
  return {
    name: "train-ticket",
    entry: "ui-dashboard",
    services: withReplicas(SERVICES, replicas),
    routes: ROUTES.map(([name, operation, share, objectiveMs]) => ({
      name,
      service: "ui-dashboard",
      operation,
      share,
      objectiveMs,
    })),
    networkMs: fixed(0.3),
  };
}

const ROUTES: readonly (readonly [name: string, operation: string, share: number, objectiveMs: number])[] = [
  ["POST /login", "login", 0.1, 300],
  ["POST /travel", "travel", 0.34, 1_000],
  ["POST /travel2", "travel2", 0.15, 1_000],
  ["POST /travel-plan", "plan", 0.04, 1_500],
  ["GET /orders", "orders", 0.12, 300],
  ["POST /preserve", "preserve", 0.06, 1_000],
  ["POST /preserve-other", "preserve-other", 0.03, 1_000],
  ["POST /pay", "pay", 0.05, 600],
  ["POST /cancel", "cancel", 0.02, 600],
  ["POST /rebook", "rebook", 0.01, 1_000],
  ["POST /execute", "execute", 0.03, 300],
  ["GET /route-plan", "route-plan", 0.02, 1_500],
  ["GET /news", "news", 0.01, 300],
  ["GET /voucher", "voucher", 0.01, 300],
  ["GET /admin", "admin", 0.01, 600],
];

/** One database of its own for each service, as in the original. */
const own = (name: string, milliseconds: number, ...steps: readonly StepModel[]): StepModel[] =>
  around(milliseconds, store(`${name}-mongo`, 2), ...steps);

const sometimes = (call: string, chance: number): StepModel =>
  all(to(call, { count: { kind: "chance", chance } }));

/** A booking on either kind of line. */
const booking = (travel: string, order: string): StepModel[] =>
  around(
    8,
    all("security/check"),
    all("contacts/get"),
    all(`${travel}/detail`),
    all("station/id"),
    all("station/id"),
    all("ticketinfo/query"),
    all("seat/dispatch"),
    all(`${order}/create`),
    sometimes("assurance/add", 0.4),
    sometimes("food/add", 0.4),
    sometimes("consign/add", 0.3),
    all("user/get"),
    all("notification/send"),
  );

/** What is asked for each train of a line: its price and what is left in two classes. */
const trip = (order: string): StepModel[] => [
  all("route/get"),
  all("ticketinfo/query"),
  all(`${order}/sold`),
  all("seat/left"),
  all("seat/left"),
  all("train/get"),
];

const search = (name: string, order: string): ServiceModel["operations"] => ({
  query: own(name, 9, all("ticketinfo/station"), ...Array.from({ length: TRIPS }, () => trip(order)).flat()),
  detail: own(name, 5, ...trip(order)),
  get: own(name, 3),
});

const orders = (name: string): ServiceModel["operations"] => ({
  list: own(name, 6, all("station/names")),
  sold: own(name, 4),
  create: own(name, 5),
  get: own(name, 3),
  modify: own(name, 4),
});

const one = (name: string, ...steps: readonly StepModel[]): ServiceModel =>
  service(name, { get: own(name, 3, ...steps) }, java());

const SERVICES: readonly ServiceModel[] = [
  service("ui-dashboard", {
    login: around(2, all("verification-code/check"), all("auth/login")),
    travel: around(2, all("travel/query")),
    travel2: around(2, all("travel2/query")),
    plan: around(2, all("travel-plan/plan")),
    orders: around(2, all("order/list"), all("order-other/list")),
    preserve: around(2, all("preserve/book")),
    "preserve-other": around(2, all("preserve-other/book")),
    pay: around(2, all("inside-payment/pay")),
    cancel: around(2, all("cancel/cancel")),
    rebook: around(2, all("rebook/rebook")),
    execute: around(2, all("execute/collect")),
    "route-plan": around(2, all("route-plan/cheapest")),
    news: around(2, all("news/get")),
    voucher: around(2, all("voucher/get")),
    admin: around(
      2,
      all("admin-basic-info/get", "admin-order/get"),
      all("admin-route/get", "admin-travel/get", "admin-user/get"),
    ),
  }),
  service("auth", { login: own("auth", 9, all("verification-code/check")) }, java()),
  service("verification-code", { check: around(2) }, java()),
  service("user", { get: own("user", 3) }, java()),
  service("contacts", { get: own("contacts", 3) }, java()),
  service("security", { check: own("security", 4, all("order/sold", "order-other/sold")) }, java()),
  service("travel", search("travel", "order"), java()),
  service("travel2", search("travel2", "order-other"), java()),
  service(
    "ticketinfo",
    { query: around(2, all("basic/query")), station: around(2, all("basic/station")) },
    java(),
  ),
  service(
    "basic",
    {
      query: around(
        5,
        all("station/id"),
        all("station/id"),
        all("train/get"),
        all("route/get"),
        all("price/get"),
      ),
      station: around(2, all("station/id")),
    },
    java(),
  ),
  service("station", { id: own("station", 1.5), names: own("station", 3) }, java()),
  service("train", { get: own("train", 2) }, java()),
  service("route", { get: own("route", 2) }, java()),
  service("price", { get: own("price", 2) }, java()),
  service("config", { get: own("config", 2) }, java()),
  service(
    "seat",
    {
      dispatch: around(5, all("route/get"), all("order/sold"), all("config/get")),
      left: around(4, all("route/get"), all("order/sold"), all("config/get")),
    },
    java(),
  ),
  service("order", orders("order"), java()),
  service("order-other", orders("order-other"), java()),
  service("preserve", { book: booking("travel", "order") }, java()),
  service("preserve-other", { book: booking("travel2", "order-other") }, java()),
  service("assurance", { add: own("assurance", 3) }, java()),
  service("food", { add: own("food", 3, all("food-map/get")) }, java()),
  one("food-map"),
  service("consign", { add: own("consign", 4, all("consign-price/get")) }, java()),
  one("consign-price"),
  service("notification", { send: around(4, store("mail", 12)) }, java()),
  service(
    "inside-payment",
    { pay: own("inside-payment", 6, all("order/get"), all("payment/pay"), all("order/modify")) },
    java(),
  ),
  service("payment", { pay: own("payment", 4, store("bank", 40)) }, java()),
  service(
    "cancel",
    {
      cancel: around(
        5,
        all("order/get"),
        all("order/modify"),
        all("payment/pay"),
        all("user/get"),
        all("notification/send"),
      ),
    },
    java(),
  ),
  service(
    "rebook",
    {
      rebook: around(
        6,
        all("order/get"),
        all("travel/detail"),
        all("seat/dispatch"),
        all("order/modify"),
        all("payment/pay"),
      ),
    },
    java(),
  ),
  service("execute", { collect: around(3, all("order/get"), all("order/modify")) }, java()),
  service(
    "travel-plan",
    {
      plan: around(
        8,
        all("route-plan/cheapest"),
        all("ticketinfo/query"),
        all("seat/left"),
        all("train/get"),
      ),
    },
    java(),
  ),
  service(
    "route-plan",
    { cheapest: around(7, all("travel/query", "travel2/query"), all("route/get")) },
    java(),
  ),
  service("news", { get: around(2) }),
  one("admin-basic-info", all("contacts/get", "station/names", "train/get", "config/get", "price/get")),
  one("admin-order", all("order/list", "order-other/list")),
  one("admin-route", all("route/get")),
  one("admin-travel", all("travel/get", "travel2/get")),
  one("admin-user", all("user/get")),
  one("voucher", all("order/get", "order-other/get")),
];
