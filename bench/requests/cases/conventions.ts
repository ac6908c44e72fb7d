import { ZIPKIN_JSON } from "@tradewind/predictor/sources/otlp/responses.ts";
import type { WireValue } from "../../../test/predictor/sources/otlp/messages.ts";
import type { Made, More, Trace, World } from "../traffic.ts";
import { podName } from "../traffic.ts";
import { browse, shop, shops } from "./case.ts";
import type { RequestCase } from "./case.ts";

/* What instrumentations of many kinds call the same things: one row each. */

const setting = { services: ["web", "search", "store", "mailer"] };
const saying = (attributes: Readonly<Record<string, WireValue>>, more: More = {}): More => ({
  ...more,
  attributes,
});
const of = (resource: Readonly<Record<string, string>>): More => ({ resource });
const pod = (service: string, number = 0): More => of({ "k8s.pod.name": podName(service, number) });

/** What asks whether `web` is well, or reads its metrics: the name of the span and its attributes. */
const PROBES: readonly (readonly [kind: string, name: string, attributes: Record<string, WireValue>])[] = [
  ["blackbox-exporter", "GET /", { "user_agent.original": "Blackbox Exporter/0.25.0" }],
  ["uptime-check-of-a-cloud", "GET /", { "http.user_agent": "GoogleStackdriverMonitoring-UptimeChecks" }],
  ["telegraf", "GET /stats", { "user_agent.original": "Telegraf/1.30 Go/1.22" }],
  ["alloy", "GET /internal/stats", { "user_agent.original": "Alloy/v1.5.1" }],
  ["collector-that-scrapes", "GET /stats", { "user_agent.original": "otelcol-contrib/0.161.0" }],
  ["agent-of-datadog", "GET /stats", { "http.useragent": "Datadog Agent/7.60.0" }],
  ["knative", "GET /", { "user_agent.original": "Knative-Activator-Probe" }],
  ["head-of-a-health-path", "HEAD /healthz", {}],
  ["health-path-of-quarkus", "GET /q/health/ready", { "user_agent.original": "Apache-HttpClient/4.5" }],
  ["health-path-of-net", "GET /health/live", {}],
  ["health-path-by-attribute", "GET", { "url.path": "/healthz" }],
  ["health-path-by-old-attribute", "HTTP GET", { "http.target": "/readyz?verbose=1" }],
  ["metrics-path", "GET /actuator/prometheus", {}],
];

const probeCases: readonly RequestCase[] = PROBES.map(([kind, name, attributes]) => ({
  name: `probe-${kind}`,
  make: (world) => {
    shops(world);
    world.every(6, (trace) => trace.span("server", "web", name, 3, saying(attributes)));
  },
}));

/** How long-lived answers say that they are: none of them has a latency. */
const STREAMS: readonly (readonly [
  kind: string,
  ms: number,
  name: string,
  attributes: Record<string, WireValue>,
])[] = [
  [
    "event-stream-by-charset",
    7_000,
    "GET /feed",
    { "http.response.header.content-type": ["text/event-stream; charset=utf-8"] },
  ],
  ["event-stream-asked-for", 7_000, "GET /feed", { "http.request.header.accept": ["text/event-stream"] }],
  ["websocket-by-old-status", 9_000, "HTTP GET", { "http.status_code": 101 }],
  ["websocket-by-upgrade", 9_000, "GET /live", { "http.request.header.upgrade": ["websocket"] }],
  [
    "websocket-of-asgi",
    9_000,
    "/live websocket",
    { "http.scheme": "wss", "http.url": "wss://shop.example/live" },
  ],
  ["websocket-by-url", 9_000, "/live", { "url.full": "wss://shop.example/live" }],
  ["websocket-over-http2", 9_000, "CONNECT /live", { "http.request.method": "CONNECT" }],
  ["tunnel-by-old-method", 9_000, "HTTP CONNECT", { "http.method": "CONNECT" }],
  ["ndjson", 9_000, "GET /log", { "http.response.header.content-type": ["application/x-ndjson"] }],
  [
    "multipart-video",
    9_000,
    "GET /camera",
    { "http.response.header.content-type": ["multipart/x-mixed-replace; boundary=x"] },
  ],
  ["graphql-subscription", 9_000, "subscription Prices", { "graphql.operation.type": "subscription" }],
  ["grpc-watch", 30_000, "shop.Prices/Watch", { "rpc.system": "grpc", "rpc.method": "Watch" }],
  ["grpc-watch-by-new-conventions", 30_000, "shop.Prices/Watch", { "rpc.system.name": "grpc" }],
  ["hub-of-signalr", 25_000, "ChatHub/Stream", { "rpc.system": "signalr" }],
];

const streamCases: readonly RequestCase[] = STREAMS.map(([kind, ms, name, attributes]) => ({
  name: `stream-${kind}`,
  make: (world) => {
    shops(world);
    world.every(2, (trace) => trace.span("server", "web", name, ms, saying(attributes)));
  },
}));

/** How those who wait for messages say it: CLIENT or CONSUMER spans without a parent. */
const POLLS: readonly (readonly [
  kind: string,
  of: "client" | "consumer",
  name: string,
  attributes: Record<string, WireValue>,
])[] = [
  [
    "kafka",
    "consumer",
    "poll orders",
    { "messaging.system": "kafka", "messaging.operation.type": "receive" },
  ],
  ["kafka-of-old", "consumer", "orders receive", { "messaging.operation": "receive" }],
  ["sqs", "client", "SQS.ReceiveMessage", { "rpc.system": "aws-api", "rpc.method": "ReceiveMessage" }],
  [
    "sqs-of-net",
    "client",
    "SQS.ReceiveMessage",
    { "messaging.system": "aws_sqs", "messaging.operation.name": "receive" },
  ],
  [
    "nats-fetch",
    "client",
    "fetch orders",
    { "messaging.system": "nats", "messaging.operation.type": "receive" },
  ],
  ["redis-stream", "client", "XREADGROUP", { "db.system.name": "redis" }],
  ["service-bus", "client", "ServiceBusReceiver.Receive", { "az.namespace": "Microsoft.ServiceBus" }],
  [
    "pubsub",
    "client",
    "orders-sub receive",
    { "messaging.system": "gcp_pubsub", "messaging.operation": "receive" },
  ],
  ["database", "client", "SELECT jobs", { "db.system": "postgresql" }],
];

const pollCases: readonly RequestCase[] = POLLS.flatMap(([kind, as, name, attributes]) =>
  (["mailer", "web"] as const).map((service) => ({
    name: `poll-${kind}-of-${service}`,
    setting,
    make: (world: World) => {
      shops(world);
      world.every(4, (trace) => trace.span(as, service, name, 2_000, saying(attributes)));
      world.every(8, (trace) => {
        const handled = saying({ "messaging.operation.type": "process" });
        trace.span("consumer", service, "process order", 30, handled).asked();
      });
    },
  })),
);

/** How handlers of one message that `web` sent are called: the request of `mailer` and what it asks `store`. */
const HANDLERS: readonly (readonly [
  kind: string,
  of: "consumer" | "server",
  name: string,
  attributes: Record<string, WireValue>,
])[] = [
  [
    "pika",
    "consumer",
    "orders receive",
    { "messaging.system": "rabbitmq", "messaging.operation": "receive" },
  ],
  [
    "nats",
    "consumer",
    "orders process",
    { "messaging.system": "nats", "messaging.operation.type": "process" },
  ],
  ["celery", "consumer", "run/mail.send", { "messaging.operation": "process", "celery.action": "run" }],
  [
    "sidekiq",
    "consumer",
    "MailJob process",
    { "messaging.system": "sidekiq", "messaging.operation": "process" },
  ],
  ["pubsub-subscribe", "consumer", "orders subscribe", { "messaging.system": "gcp_pubsub" }],
  ["eventbridge", "server", "mail handler", { "faas.trigger": "pubsub" }],
  [
    "service-bus",
    "consumer",
    "ServiceBusProcessor.ProcessMessage",
    { "messaging.operation.type": "process" },
  ],
  [
    "sqs-message",
    "consumer",
    "orders process",
    { "messaging.system": "aws_sqs", "messaging.operation.name": "process" },
  ],
  ["mqtt-deliver", "consumer", "orders deliver", { "messaging.operation": "deliver" }],
];

const handlerCases: readonly RequestCase[] = HANDLERS.map(([kind, as, name, attributes]) => ({
  name: `handler-${kind}`,
  setting,
  make: (world) =>
    world.every(20, (trace) => {
      const sent = shop(trace).own("producer", "orders publish", 50, 3);
      const mail = sent.span(as, "mailer", name, 200, 40, saying(attributes));
      mail.asked().ask("store", "GET /customer", 5, 20);
    }),
}));

/** What works for the entry in traces of its own: no user waits for it. */
const WORK: readonly (readonly [
  kind: string,
  of: "consumer" | "internal" | "producer" | "server",
  name: string,
  attributes: Record<string, WireValue>,
  isAsked: boolean,
])[] = [
  ["job-by-a-link", "consumer", "MailJob process", { "messaging.system": "sidekiq" }, true],
  ["celery-task", "consumer", "run/report", { "celery.action": "run" }, true],
  ["celery-beat", "producer", "apply_async/report", { "celery.action": "apply_async" }, false],
  ["scheduled", "internal", "ReportJob.run", { "code.function.name": "ReportJob.run" }, false],
  ["timer-of-a-function", "server", "report", { "faas.trigger": "timer" }, false],
  [
    "cron-of-a-function",
    "server",
    "report",
    { "faas.trigger": "timer", "faas.cron": "0/5 * * * ? *" },
    false,
  ],
];

const workCases: readonly RequestCase[] = WORK.map(([kind, as, name, attributes, isAsked]) => ({
  name: `work-${kind}`,
  make: (world) => {
    shops(world);
    world.every(6, (trace) => {
      const work = trace.span(as, "web", name, 1_500, saying(attributes));
      if (isAsked) work.asked();
      work.ask("store", "GET /item", 20, 300);
    });
  },
}));

/** What a resource says of `mailer` beside its name, or instead of it. */
const NAMES: readonly (readonly [kind: string, (service: string) => Readonly<Record<string, string>>])[] = [
  ["of-a-mesh", (service) => ({ "service.name": `${service}.shop.svc.cluster.local` })],
  ["of-a-mesh-of-another-domain", (service) => ({ "service.name": `${service}.shop.svc.corp.example` })],
  ["of-kuma", (service) => ({ "service.name": `${service}_shop_svc_8080` })],
  ["with-a-port", (service) => ({ "service.name": `${service}.shop:8080` })],
  ["by-the-pod-alone", (service) => ({ "service.name": "", "k8s.pod.name": podName(service, 0) })],
  [
    "by-the-pod-of-no-name",
    (service) => ({ "service.name": "unknown_service:java", "k8s.pod.name": podName(service, 0) }),
  ],
  [
    "by-the-host-alone",
    (service) => ({ "service.name": "unknown_service", "host.name": podName(service, 1) }),
  ],
  [
    "by-the-container",
    (service) => ({ "service.name": "unknown_service:dotnet", "k8s.container.name": service }),
  ],
  ["by-the-set", (service) => ({ "service.name": "unknown_service", "k8s.statefulset.name": service })],
  [
    "by-the-replica-set",
    (service) => ({ "service.name": "", "k8s.replicaset.name": `${service}-7c9d8f6b5` }),
  ],
  [
    "other-than-the-workload",
    (service) => ({ "service.name": `Shop.${service}.Api`, "k8s.pod.name": podName(service, 0) }),
  ],
];

const nameCases: readonly RequestCase[] = NAMES.map(([kind, resource]) => ({
  name: `name-${kind}`,
  make: (world) =>
    world.every(20, (trace) => {
      const page = trace.user("web", "GET /", 60, of(resource("web")));
      const find = page.ask("search", "GET /search", 5, 40, of(resource("search")));
      find.ask("store", "GET /item", 5, 20, of(resource("store")));
    }),
}));

/** Where the same application runs once more, and what tells of it. */
const PLACES: readonly (readonly [
  kind: string,
  ours: Record<string, string>,
  theirs: Record<string, string>,
  isLost?: true,
])[] = [
  ["namespace-of-a-branch", { "k8s.namespace.name": "shop" }, { "k8s.namespace.name": "shop-pr-17" }],
  ["namespace-that-only-others-name", {}, { "k8s.namespace.name": "staging" }],
  [
    "environment",
    { "deployment.environment.name": "production" },
    { "deployment.environment.name": "staging" },
    true,
  ],
  ["environment-of-old", { "deployment.environment": "prod" }, { "deployment.environment": "qa" }, true],
];

const placeCases: readonly RequestCase[] = PLACES.map(([kind, ours, theirs, isLost]) => {
  const place: RequestCase = {
    name: `place-${kind}`,
    make: (world) => {
      world.every(20, (trace) => {
        const page = trace.user("web", "GET /", 60, of(ours));
        page.ask("search", "GET /search", 5, 40, of(ours)).ask("store", "GET /item", 5, 20, of(ours));
      });
      world.every(25, (trace) => {
        const page = trace.span("server", "web", "GET /", 700, of(theirs));
        page.own("client", "GET", 5, 600).span("server", "search", "GET /search", 1, 500, of(theirs));
      });
    },
  };
  return isLost === true ? Object.assign(place, { isLost }) : place;
});

const environmentByPods: RequestCase = {
  name: "place-environment-told-apart-by-pods",
  make: (world) => {
    const place = (name: string): More => of({ "deployment.environment.name": name });
    world.every(20, (trace, number) => {
      const page = trace.user("web", "GET /", 60, { ...place("production"), pod: number % 2 });
      page.ask("search", "GET /search", 5, 40, { ...place("production"), pod: 0 });
    });
    world.every(25, (trace) => {
      const page = trace.span("server", "web", "GET /", 700, { ...place("staging"), pod: 8 });
      page
        .own("client", "GET", 5, 600)
        .span("server", "search", "GET /search", 1, 500, { ...place("staging"), pod: 9 });
    });
  },
};

/** Who is traced in front of `web`: the span above its request. */
const CALLERS: readonly (readonly [kind: string, (trace: Trace) => Made])[] = [
  [
    "page-load",
    (trace) =>
      trace
        .span("internal", "storefront", "documentLoad", 900)
        .span("client", "storefront", "HTTP GET", 20, 80),
  ],
  [
    "app-on-a-phone-with-a-wrong-clock",
    (trace) => trace.span("client", "ios-app", "GET", 300, { aheadMs: -7_200_000 }),
  ],
  [
    "app-on-a-phone-far-ahead",
    (trace) => trace.span("client", "ios-app", "GET", 300, { aheadMs: 5_400_000 }),
  ],
  ["load-balancer-by-x-ray", (trace) => trace.span("server", "alb", "shop.example", 70)],
  [
    "webhooks-of-a-queue",
    (trace) => trace.span("consumer", "relay", "hooks process", 200).own("client", "POST", 10, 100),
  ],
  [
    "gateway-of-three-hops",
    (trace) =>
      trace
        .span("server", "edge", "GET", 100)
        .span("client", "edge", "GET", 1, 95)
        .span("server", "gateway", "GET", 1, 90)
        .own("client", "GET", 1, 80),
  ],
  [
    "batch-of-another-team",
    (trace) => trace.span("internal", "etl", "export", 2_000).own("client", "GET", 50, 100),
  ],
];

const callerCases: readonly RequestCase[] = CALLERS.map(([kind, above]) => ({
  name: `caller-${kind}`,
  make: (world) =>
    world.every(20, (trace) =>
      browse(above(trace).span("server", "web", "GET /", 2, 60).asked().awaited("GET /")),
    ),
}));

/** Both sides of a call have one id. */
function sharing(caller: Made, service: string, more: More = {}): Made {
  const call = caller.own("client", "get", 5, caller.ms * 0.6);
  return call.span("server", service, "get", 1, caller.ms * 0.6 - 2, {
    id: call.id,
    parent: caller.id,
    ...more,
  });
}

const contextCases: readonly RequestCase[] = [
  {
    name: "context-b3-whose-client-sends-nothing",
    setting: { form: ZIPKIN_JSON },
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "get /", 60);
        const call = page.own("client", "get", 5, 40, { isLost: true });
        call.span("server", "search", "get", 1, 38, { id: call.id, parent: page.id }).asked().calledBy("web");
      }),
  },
  {
    name: "context-b3-that-calls-itself",
    setting: { form: ZIPKIN_JSON },
    make: (world) =>
      world.every(20, (trace) => {
        const find = sharing(trace.user("web", "get /", 100), "search", pod("search"))
          .asked()
          .calledBy("web");
        sharing(find, "search", pod("search", 1)).asked().calledBy("search");
      }),
  },
  {
    name: "context-b3-of-64-bits",
    setting: { form: ZIPKIN_JSON },
    make: (world) =>
      world.every(20, (trace) => {
        const traceId = world.id(16);
        const page = trace.user("web", "get /", 60, { traceId });
        const call = page.own("client", "get", 5, 40, { traceId });
        call.span("server", "search", "get", 1, 38, { traceId }).asked().calledBy("web");
      }),
  },
  {
    name: "context-b3-at-once-in-both-forms",
    make: (world) =>
      world.every(20, (trace) => {
        const find = sharing(trace.user("web", "get /", 60), "search")
          .asked()
          .calledBy("web");
        find
          .own("client", "GET", 2, 10)
          .span("server", "store", "GET /item", 1, 8)
          .asked()
          .calledBy("search");
      }),
  },
  {
    name: "context-fixed-parent-of-a-load-test",
    make: (world) => {
      const fixed = { traceId: world.id(32), parent: world.id(16) };
      world.every(10, (trace) => {
        const page = trace.user("web", "GET /", 60, fixed);
        const call = page.own("client", "GET", 5, 40, { traceId: fixed.traceId });
        call.span("server", "search", "GET", 1, 38, { traceId: fixed.traceId }).asked().calledBy("web");
      });
    },
  },
  {
    name: "context-one-trace-for-each-session",
    make: (world) => {
      const sessions = Array.from({ length: 40 }, () => world.id(32));
      world.every(20, (trace, number) => {
        const traceId = sessions[number % sessions.length] ?? "";
        const page = trace.user("web", "GET /", 60, { traceId });
        const call = page.own("client", "GET", 5, 40, { traceId });
        call.span("server", "search", "GET", 1, 38, { traceId }).asked().calledBy("web");
      });
    },
  },
  {
    name: "context-spans-without-kinds-of-datadog",
    make: (world) =>
      world.every(20, (trace) => {
        const host = (service: string): More => of({ "host.name": podName(service, 0) });
        const page = trace
          .span("unspecified", "web", "express.request", 60, host("web"))
          .asked()
          .awaited("express.request");
        const http = page.span("unspecified", "web-http-client", "http.request", 5, 44, host("web"));
        const find = http
          .span("unspecified", "search", "flask.request", 2, 40, host("search"))
          .asked()
          .calledBy("web");
        find.span("unspecified", "search-postgres", "postgres.query", 5, 20, host("search"));
      }),
  },
  {
    name: "context-clients-of-datadog",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "web.request", 60, pod("web"));
        const http = page.span("client", "web-http-client", "http.request", 5, 44, pod("web"));
        const find = http
          .span("server", "search", "web.request", 2, 40, pod("search"))
          .asked()
          .calledBy("web");
        find.span("client", "search-redis", "redis.command", 5, 20, pod("search"));
      }),
  },
  {
    name: "context-sidecar-known-by-its-host",
    make: (world) =>
      world.every(20, (trace) => {
        const at = (service: string): More => of({ "host.name": podName(service, 0) });
        const proxy = trace.user("web", "ingress", 70, at("web"));
        const page = proxy.own("client", "to app", 1, 66).own("server", "GET /", 1, 64);
        page.ask("search", "GET /search", 5, 40, at("search"));
      }),
  },
  {
    name: "context-peers-known-by-their-hosts",
    make: (world) =>
      world.every(20, (trace) => {
        const at = (number: number): More => of({ "host.name": podName("search", number) });
        const find = trace.user("web", "GET /", 60).ask("search", "GET /search", 5, 40, at(0));
        find.span("server", "search", "GET /shard", 5, 20, at(1)).asked().calledBy("search");
      }),
  },
  {
    name: "context-peers-known-by-their-instances",
    make: (world) =>
      world.every(20, (trace) => {
        const at = (number: number): More => of({ "service.instance.id": `instance-${number}` });
        const find = trace.user("web", "GET /", 60).ask("search", "GET /search", 5, 40, at(0));
        find
          .own("client", "GET /shard", 4, 24)
          .span("server", "search", "GET /shard", 1, 20, at(1))
          .asked()
          .calledBy("search");
      }),
  },
  {
    name: "context-job-of-the-same-service",
    make: (world) =>
      world.every(20, (trace) => {
        const task = shop(trace).own("producer", "apply_async/mail", 50, 3);
        task.own("consumer", "run/mail", 400, 900).asked();
      }),
  },
  {
    name: "context-batch-with-a-span-for-each-message",
    setting,
    make: (world) => {
      shops(world);
      world.every(4, (trace) => {
        const batch = trace.span(
          "consumer",
          "mailer",
          "poll orders",
          900,
          saying({ "messaging.operation.type": "receive" }),
        );
        for (let message = 0; message < 5; message += 1)
          batch
            .own(
              "consumer",
              "process order",
              900 + 40 * message,
              30,
              saying({ "messaging.operation.type": "process" }),
            )
            .asked();
      });
    },
  },
  {
    name: "context-sampled-by-old-conventions",
    make: (world) => {
      world.isSampled = () => world.rng() < 0.125;
      const traceState = "dd=s:1,ot=r:6;p:3";
      world.every(160, (trace) => {
        const page = trace.user("web", "GET /", 60, { traceState });
        const call = page.own("client", "GET", 5, 42, { traceState });
        call.span("server", "search", "GET", 1, 40, { traceState }).asked().calledBy("web");
      });
    },
  },
  {
    name: "context-large-traces-of-nested-queries",
    make: (world) =>
      world.every(2, (trace, number) => {
        if (number % 4 > 0) return shop(trace);
        const page = trace.user("web", "GET /report", 900);
        for (let query = 0; query < 9_000; query += 1)
          page.own("internal", "Query.get", 10 + 0.09 * query, 0.08).own("client", "SELECT", 0.01, 0.06);
        return page;
      }),
  },
];

export const CONVENTIONS: readonly RequestCase[] = [
  ...probeCases,
  ...streamCases,
  ...pollCases,
  ...handlerCases,
  ...workCases,
  ...nameCases,
  ...placeCases,
  environmentByPods,
  ...callerCases,
  ...contextCases,
];
