import { PROTOBUF, ZIPKIN_JSON } from "@tradewind/predictor/sources/otlp/responses.ts";
import type { Made, More, Trace } from "../traffic.ts";
import { podName } from "../traffic.ts";
import { browse, shop, shops } from "./case.ts";
import type { RequestCase } from "./case.ts";

/** Both sides of a call have one id, as Zipkin's clients and Envoy have it. */
function sharing(caller: Made, service: string, name: string, afterMs: number, ms: number): Made {
  const call = caller.own("client", name, afterMs, ms);
  const parent = { id: call.id, parent: caller.id };
  return call.span("server", service, name, 1, ms - 2, parent);
}

const zipkin = { form: ZIPKIN_JSON } as const;

function sharedIds(trace: Trace, nameOf: (service: string) => string = (service) => service): void {
  const page = trace.span("server", nameOf("web"), "get /", 60);
  const find = sharing(page, nameOf("search"), "get /search", 5, 40);
  const get = sharing(find, nameOf("store"), "get /item", 5, 20);
  noted(trace, page, find, get);
}

/** What is true of `web`, `search` and `store` where their spans have other names. */
function noted(trace: Trace, page: Made, find: Made, get: Made): void {
  const { truth } = trace.world;
  for (const [service, span] of [
    ["web", page],
    ["search", find],
    ["store", get],
  ] as const)
    truth.note(truth.requests, service, span);
  truth.note(truth.users, "get /", page);
  truth.note(truth.calls, "web search", find);
  truth.note(truth.calls, "search store", get);
}

/** A sidecar that calls itself like its application, in the same pod: its SERVER and CLIENT spans around the application's. */
function beside(above: Made | Trace, service: string, ms: number, more: More = {}): Made {
  const of = { ...more, pod: 0 };
  const into =
    "isSampled" in above
      ? above.span("server", service, "in", ms, of)
      : above.span("server", service, "in", 1, ms, of);
  into.asked();
  return into.own("client", "to application", 1, ms - 2).own("server", "GET /", 1, ms - 4);
}

export const PROXIES: readonly RequestCase[] = [
  { name: "zipkin", setting: zipkin, make: shops },
  {
    name: "zipkin-shared-ids",
    setting: zipkin,
    make: (world) => world.every(20, (trace) => sharedIds(trace)),
  },
  {
    name: "shared-ids-by-otlp",
    setting: { form: PROTOBUF },
    make: (world) => world.every(20, (trace) => sharedIds(trace)),
  },
  {
    name: "envoy-zipkin-names-with-namespace",
    setting: zipkin,
    make: (world) => world.every(20, (trace) => sharedIds(trace, (service) => `${service}.shop`)),
  },
  {
    name: "istio-names-and-the-application's-own-spans",
    make: (world) =>
      world.every(20, (trace) => {
        const proxy = trace.span("server", "web.shop", "web.shop.svc:80/*", 64, {
          pod: 0,
          resource: { "k8s.pod.name": podName("web", 0) },
        });
        const page = proxy.span("server", "web", "GET /", 2, 60, { pod: 0 });
        const out = page.own("client", "GET", 5, 44);
        const egress = out.span("client", "web.shop", "search.shop.svc:80/*", 1, 42, {
          resource: { "k8s.pod.name": podName("web", 0) },
        });
        const ingress = egress.span("server", "search.shop", "search.shop.svc:80/*", 1, 40, {
          resource: { "k8s.pod.name": podName("search", 1) },
        });
        ingress.span("server", "search", "GET /search", 1, 38, { pod: 1 });
        const { truth } = trace.world;
        truth.note(truth.requests, "web", proxy);
        truth.note(truth.users, "web.shop.svc:80/*", proxy);
        truth.note(truth.requests, "search", ingress);
        truth.note(truth.calls, "web search", ingress);
      }),
  },
  {
    name: "dapr-sidecars",
    make: (world) =>
      world.every(20, (trace) => {
        const page = beside(trace, "web", 80);
        page.own("internal", "render", 1, 2);
        const out = page.own("client", "invoke search", 5, 60).own("server", "CallLocal/search", 1, 58);
        const find = beside(out.own("client", "CallRemote", 1, 56), "search", 50);
        const { truth } = trace.world;
        truth.note(truth.users, "in", { endMs: trace.startMs + 80 * trace.pace, ms: 80 * trace.pace });
        truth.note(truth.calls, "web search", find);
      }),
  },
  {
    name: "linkerd-proxies-by-their-pods",
    make: (world) =>
      world.every(20, (trace) => {
        const at = (service: string, pod: number): More => ({
          resource: { "k8s.pod.name": podName(service, pod) },
        });
        const inbound = trace.span("server", "linkerd-proxy", "web:80", 64, at("web", 0));
        const page = inbound.span("server", "web", "GET /", 2, 60, { pod: 0 });
        const outbound = page
          .own("client", "GET", 4, 44)
          .span("client", "linkerd-proxy", "search:80", 1, 42, at("web", 0));
        const into = outbound.span("server", "linkerd-proxy", "search:80", 1, 40, at("search", 0));
        into.span("server", "search", "GET /search", 1, 38, { pod: 0 });
        const { truth } = trace.world;
        truth.note(truth.requests, "web", inbound);
        truth.note(truth.users, "web:80", inbound);
        truth.note(truth.requests, "search", into);
        truth.note(truth.calls, "web search", into);
      }),
  },
  {
    name: "library-under-a-name-of-its-own",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "GET /", 80, { pod: 0 });
        const find = page.ask("search", "GET /search", 5, 60, { pod: 1 });
        find.span("client", "mysql", "SELECT", 10, 40, {
          resource: { "k8s.pod.name": podName("search", 1) },
        });
      }),
  },
  {
    name: "library-of-which-nothing-tells-the-process",
    make: (world) =>
      world.every(20, (trace) => {
        const find = trace.user("web", "GET /", 80).ask("search", "GET /search", 5, 60);
        find
          .own("internal", "load", 2, 50)
          .span("client", "hibernate", "select", 4, 45)
          .span("client", "jdbc", "SELECT", 1, 40);
        find.span("client", "redis-manual", "GET", 52, 4);
      }),
  },
  {
    name: "library-known-by-its-instance",
    make: (world) =>
      world.every(20, (trace) => {
        const of = (service: string): More => ({ resource: { "service.instance.id": `id-${service}` } });
        const page = trace.user("web", "GET /", 80, of("web"));
        const find = page.ask("search", "GET /search", 5, 60, of("search"));
        find.span("internal", "redis-manual", "get", 10, 40, of("search"));
      }),
  },
  {
    name: "server-sent-events-by-zipkin",
    setting: zipkin,
    make: (world) => {
      shops(world);
      const attributes = { "http.response.header.content-type": "text/event-stream" };
      world.every(2, (trace) => trace.span("server", "web", "get /events", 9_000, { attributes }));
    },
  },
  {
    name: "receive-and-process-by-zipkin",
    setting: { ...zipkin, services: ["web", "search", "store", "mailer"] },
    make: (world) => {
      shops(world);
      world.every(20, (trace) => {
        const attributes = { "messaging.operation": "receive" };
        const poll = trace.span("consumer", "mailer", "poll", 300, { attributes });
        poll.own("consumer", "on-message", 300, 20).asked();
      });
    },
  },
  {
    name: "no-service-name-but-a-deployment",
    make: (world) =>
      world.every(20, (trace) => {
        const of = (service: string): More => ({
          resource: { "service.name": "unknown_service:node", "k8s.deployment.name": service },
        });
        const page = trace.user("web", "GET /", 60, of("web"));
        page.ask("search", "GET /search", 5, 40, of("search"));
      }),
  },
  {
    name: "envoy-in-front-that-shares-the-trace",
    setting: zipkin,
    make: (world) =>
      world.every(20, (trace) => {
        const front = trace.span("client", "front-proxy", "web:80", 70);
        const page = front.span("server", "web", "get /", 1, 60, { id: front.id, parent: "" });
        browse(page.asked().awaited("get /"));
      }),
  },
  {
    name: "two-pods-behind-one-service",
    make: (world) => world.every(20, (trace, number) => shop(trace, { pod: number % 2 })),
  },
];
