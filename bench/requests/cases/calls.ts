import type { Made, Trace } from "../traffic.ts";
import { browse, shop, shops } from "./case.ts";
import type { RequestCase } from "./case.ts";

const web = (trace: Trace, ms = 100): Made => trace.user("web", "GET /", ms);

export const CALLS: readonly RequestCase[] = [
  { name: "plain", make: shops },
  { name: "plain-protobuf", setting: { form: "application/x-protobuf" }, make: shops },
  {
    name: "grpc-unary",
    make: (world) =>
      world.every(20, (trace) => {
        const attributes = { "rpc.system": "grpc", "rpc.service": "shop.Search", "rpc.method": "Find" };
        const page = trace.user("web", "shop.Web/Page", 60, { attributes });
        page.ask("search", "shop.Search/Find", 5, 40, { attributes }).ask("store", "shop.Store/Get", 5, 20);
      }),
  },
  {
    name: "old-http-conventions",
    make: (world) =>
      world.every(20, (trace) => {
        const attributes = { "http.method": "GET", "http.status_code": 200, "http.target": "/?q=1" };
        browse(trace.user("web", "HTTP GET", 60, { attributes }));
      }),
  },
  {
    name: "one-request-in-ten-fails",
    make: (world) =>
      world.every(20, (trace, number) =>
        shop(trace, {
          failed: number % 10 === 0,
          attributes: { "http.response.status_code": number % 10 === 0 ? 503 : 200 },
        }),
      ),
  },
  {
    name: "graphql-batch",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "POST /graphql", 120).own("internal", "execute", 2, 110);
        for (let field = 0; field < 6; field += 1) {
          const resolve = page.own("internal", `resolve ${field}`, 5, 60 + field);
          resolve.ask(field < 2 ? "search" : "store", "GET /field", 2, 50);
        }
      }),
  },
  {
    name: "retry-after-a-refused-connection",
    make: (world) =>
      world.every(20, (trace, number) => {
        const page = web(trace);
        if (number % 3 === 0) page.own("client", "GET", 2, 10, { failed: true });
        page.ask("search", "GET /search", 20, 50).ask("store", "GET /item", 5, 20);
      }),
  },
  {
    name: "retries-below-one-client-span",
    make: (world) =>
      world.every(20, (trace, number) => {
        const page = web(trace);
        const call = page.own("client", "GET /search", 5, 90);
        if (number % 3 === 0)
          call.span("server", "search", "GET /search", 2, 20, { failed: true }).asked().calledBy("web");
        call.span("server", "search", "GET /search", 30, 50).asked().calledBy("web");
      }),
  },
  {
    name: "hedged-requests",
    make: (world) =>
      world.every(20, (trace) => {
        const page = web(trace);
        page.ask("search", "GET /search", 5, 80);
        page.ask("search", "GET /search", 30, 50, { failed: true });
      }),
  },
  {
    name: "user-gave-up",
    make: (world) =>
      world.every(20, (trace, number) => {
        if (number % 5 > 0) return shop(trace);
        const page = trace.user("web", "GET /", 30, { attributes: { "http.response.status_code": 499 } });
        const call = page.own("client", "GET /search", 5, 25, { failed: true });
        return call.span("server", "search", "GET /search", 2, 400).asked().calledBy("web");
      }),
  },
  {
    name: "caller-timed-out-and-callee-went-on",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "GET /", 60, { failed: true });
        const call = page.own("client", "shop.Search/Find", 5, 50, { failed: true });
        const find = call.span("server", "search", "shop.Search/Find", 2, 900).asked().calledBy("web");
        find.ask("store", "GET /item", 100, 700);
      }),
  },
  {
    name: "fan-out",
    make: (world) =>
      world.every(20, (trace) => {
        const page = web(trace);
        for (let part = 0; part < 8; part += 1) page.ask("search", "GET /part", 5 + part, 60);
        page.ask("store", "GET /item", 75, 20);
      }),
  },
  {
    name: "a-calls-b-calls-a",
    make: (world) =>
      world.every(20, (trace) => {
        const find = web(trace).ask("search", "GET /search", 5, 80);
        find.ask("web", "GET /price", 10, 50).ask("store", "GET /price", 5, 30);
      }),
  },
  {
    name: "recursion-by-the-load-balancer",
    make: (world) =>
      world.every(20, (trace) => {
        const find = web(trace).ask("search", "GET /tree", 5, 80, { pod: 0 });
        find.ask("search", "GET /tree", 5, 60, { pod: 1 }).ask("search", "GET /tree", 5, 40, { pod: 0 });
      }),
  },
  {
    name: "peers-without-client-spans",
    make: (world) =>
      world.every(20, (trace) => {
        const find = web(trace).ask("search", "GET /search", 5, 80, { pod: 0 });
        const peer = find.span("server", "search", "GET /shard", 20, 40, { pod: 1 });
        peer.asked().calledBy("search");
      }),
  },
  {
    name: "peers-whose-clocks-differ",
    make: (world) =>
      world.every(20, (trace) => {
        const find = web(trace).ask("search", "GET /search", 5, 80, { pod: 0 });
        const peer = find.span("server", "search", "GET /shard", 20, 40, { pod: 1, aheadMs: 400 });
        peer.asked().calledBy("search");
      }),
  },
  {
    name: "callers-without-client-spans",
    make: (world) =>
      world.every(20, (trace) => {
        const find = web(trace).span("server", "search", "GET /search", 5, 80).asked().calledBy("web");
        find.span("server", "store", "GET /item", 5, 40).asked().calledBy("search");
      }),
  },
  {
    name: "redirects",
    make: (world) =>
      world.every(20, (trace, number) => {
        if (number % 2 === 0) shop(trace);
        else trace.user("web", "GET /old", 3, { attributes: { "http.response.status_code": 302 } });
      }),
  },
  {
    name: "cache-hits",
    make: (world) =>
      world.every(20, (trace, number) => {
        if (number % 5 === 0) shop(trace);
        else
          trace.user("web", "GET /", 4).own("client", "GET", 1, 2, { attributes: { "db.system": "redis" } });
      }),
  },
  {
    name: "orm-and-database-clients",
    make: (world) =>
      world.every(20, (trace) => {
        const find = web(trace).ask("search", "GET /search", 5, 80);
        const orm = find.own("internal", "Query.all", 5, 60);
        orm.own("client", "SELECT items", 2, 50, { attributes: { "db.system.name": "postgresql" } });
        find.own("client", "PING", 70, 2);
      }),
  },
  {
    name: "client-spans-within-client-spans",
    make: (world) =>
      world.every(20, (trace) => {
        const call = web(trace).own("client", "shop.Search/Find", 5, 80).own("client", "POST", 1, 78);
        call.own("internal", "dns", 1, 1);
        call.span("server", "search", "shop.Search/Find", 2, 70).asked().calledBy("web");
      }),
  },
  {
    name: "callee-that-outlives-the-client-span",
    make: (world) =>
      world.every(20, (trace) => {
        const call = web(trace).own("client", "GET /search", 5, 20);
        call.span("server", "search", "GET /search", 2, 60).asked().calledBy("web");
      }),
  },
  {
    name: "unique-operation-names",
    make: (world) => world.every(20, (trace, number) => browse(trace.user("web", `GET /user/${number}`, 60))),
  },
  {
    name: "internal-roots-for-requests",
    make: (world) =>
      world.every(20, (trace) => browse(trace.span("internal", "web", "page", 60).asked().awaited("page"))),
  },
  {
    name: "no-kinds",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.span("unspecified", "web", "page", 60).asked().awaited("page");
        page.own("unspecified", "render", 2, 5);
        const find = page.span("unspecified", "search", "find", 10, 40).asked().calledBy("web");
        find.span("unspecified", "store", "get", 5, 20).asked().calledBy("search");
      }),
  },
  {
    name: "zero-durations",
    make: (world) =>
      world.every(20, (trace) => {
        const page = web(trace);
        page.own("internal", "instant", 3, 0);
        page
          .ask("search", "GET /search", 5, 40)
          .span("server", "store", "GET /item", 5, 0)
          .asked()
          .calledBy("search");
      }),
  },
  {
    name: "nested-server-spans-of-frameworks",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "GET /", 60, { pod: 0 });
        const inner = page.own("server", "GET /", 1, 57).own("server", "middleware", 1, 55);
        inner.ask("search", "GET /search", 5, 40);
      }),
  },
];
