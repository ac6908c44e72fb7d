import { ZIPKIN_JSON } from "@tradewind/predictor/sources/otlp/responses.ts";
import type { Made, More, World } from "../traffic.ts";
import { podName } from "../traffic.ts";
import { shop, shops } from "./case.ts";
import type { RequestCase } from "./case.ts";

/* Several kinds at once, as applications have them. */

const zipkin = { form: ZIPKIN_JSON } as const;
const withMailer = { services: ["web", "search", "store", "mailer"] };
const onPod = (service: string, pod: number, more: More = {}): More => ({
  ...more,
  resource: { "k8s.pod.name": podName(service, pod), ...more.resource },
});
const inNamespace = (name: string): More => ({ resource: { "k8s.namespace.name": name } });
const operation = (type: string, system = "kafka"): More => ({
  attributes: { "messaging.system": system, "messaging.operation.type": type },
});

/** Both sides of the call have one id. */
function sharing(
  caller: Made,
  service: string,
  [afterMs, ms]: readonly [number, number],
  more: More = {},
): Made {
  const call = caller.own("client", "get", afterMs, ms);
  const joined = { ...more, id: call.id, parent: caller.id };
  return call
    .span("server", service, "get", 1, ms - 2, joined)
    .asked()
    .calledBy(caller.service);
}

/** A slower copy of the application with more load. */
function elsewhere(world: World, more: More): void {
  world.every(30, (trace) => {
    const page = trace.span("server", "web", "get /", 900, more);
    const call = page.own("client", "get", 5, 800, more);
    call.span("server", "search", "get", 1, 700, { ...more, id: call.id, parent: page.id });
  });
}

export const MIXTURES: readonly RequestCase[] = [
  {
    name: "mixture-brave-beside-a-staging-namespace",
    setting: zipkin,
    make: (world) => {
      world.every(20, (trace) => {
        const page = trace.user("web", "get /", 60, inNamespace("shop"));
        sharing(sharing(page, "search", [5, 40], inNamespace("shop")), "store", [5, 20], inNamespace("shop"));
      });
      elsewhere(world, inNamespace("staging"));
    },
  },
  {
    name: "mixture-istio-proxies-of-two-namespaces",
    setting: zipkin,
    make: (world) => {
      const proxy = (service: string, pod: string, namespace: string): More => ({
        attributes: {
          node_id: `sidecar~10.1.2.3~${service}-${pod}.${namespace}~${namespace}.svc.cluster.local`,
          "istio.namespace": namespace,
        },
      });
      world.every(20, (trace) => {
        const page = trace.user("web", "web.shop:80/*", 60, proxy("web", "0", "shop"));
        const call = page.own("client", "search.shop:80/*", 5, 42, proxy("web", "0", "shop"));
        const joined = { ...proxy("search", "1", "shop"), id: call.id, parent: page.id };
        call.span("server", "search", "search.shop:80/*", 1, 40, joined).asked().calledBy("web");
      });
      elsewhere(world, proxy("web", "9", "staging"));
    },
  },
  {
    name: "mixture-brave-in-two-clusters-told-apart-by-pods",
    setting: zipkin,
    make: (world) => {
      const place = (service: string, pod: number, cluster: string): More =>
        onPod(service, pod, { resource: { "k8s.cluster.name": cluster } });
      world.every(20, (trace) => {
        const page = trace.user("web", "get /", 60, place("web", 0, "eu"));
        sharing(page, "search", [5, 40], place("search", 0, "eu"));
      });
      elsewhere(world, place("web", 7, "us"));
    },
  },
  {
    name: "mixture-istio-proxies-around-brave",
    setting: zipkin,
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.span("server", "web.shop", "web.shop.svc:80/*", 64, onPod("web", 0));
        const app = page.span("server", "web", "get /", 1, 60, {
          ...onPod("web", 0),
          id: page.id,
          parent: "",
        });
        const call = app.own("client", "get", 5, 46, { parent: page.id });
        const egress = call.span("client", "web.shop", "search.shop.svc:80/*", 1, 44, onPod("web", 0));
        const joined = { ...onPod("search", 0), id: egress.id, parent: call.id };
        const ingress = egress.span("server", "search.shop", "search.shop.svc:80/*", 1, 40, joined);
        ingress.span("server", "search", "get /search", 1, 38, joined);
        const { truth } = trace.world;
        truth.note(truth.requests, "web", page);
        truth.note(truth.users, "web", page);
        truth.note(truth.requests, "search", ingress);
        truth.note(truth.calls, "web search", ingress);
      }),
  },
  {
    name: "mixture-brave-callers-and-a-callee-by-other-means",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.span("client", "edge-gateway", "get", 90).span("server", "web", "get /", 2, 60);
        const find = sharing(page.asked().awaited("get /"), "search", [5, 40]);
        find
          .own("client", "GET", 2, 24)
          .span("server", "store", "GET /item", 1, 20)
          .asked()
          .calledBy("search");
      }),
  },
  {
    name: "mixture-retries-with-shared-ids",
    setting: zipkin,
    make: (world) =>
      world.every(20, (trace, number) => {
        const page = trace.user("web", "get /", 90);
        if (number % 4 === 0) page.own("client", "get", 2, 8, { failed: true });
        const find = sharing(page, "search", [14, 60]);
        sharing(find, "store", [5, 20], { failed: number % 5 === 0 });
        if (number % 5 === 0) sharing(find, "store", [28, 20]);
      }),
  },
  {
    name: "mixture-kafka-of-spring-polls-and-handles",
    setting: { ...zipkin, ...withMailer },
    make: (world) =>
      world.every(20, (trace) => {
        const sent = shop(trace).own("producer", "send", 50, 3);
        const poll = sent.span("consumer", "mailer", "poll", 200, 0.1);
        const handled = poll.own("unspecified", "on-message", 4, 30).asked();
        sharing(handled, "store", [5, 15]);
      }),
  },
  {
    name: "mixture-entry-that-polls-streams-and-answers",
    setting: withMailer,
    make: (world) => {
      shops(world);
      world.every(1, (trace) =>
        trace.span("client", "web", "SQS.ReceiveMessage", 20_000, operation("receive", "aws_sqs")),
      );
      world.every(1, (trace) =>
        trace.span("server", "web", "GET /events", 20_000, {
          attributes: { "http.response.header.content-type": ["text/event-stream"] },
        }),
      );
      world.every(6, (trace) => {
        const task = trace
          .span("consumer", "web", "orders process", 700, operation("process", "aws_sqs"))
          .asked();
        task.ask("mailer", "POST /mail", 20, 300);
        task.own("client", "SQS.DeleteMessage", 650, 20);
      });
    },
  },
  {
    name: "mixture-celery-worker-that-pops-and-keeps-results",
    setting: withMailer,
    make: (world) => {
      world.every(1, (trace) =>
        trace.span("client", "mailer", "BRPOP", 1_000, { attributes: { "db.system": "redis" } }),
      );
      world.every(20, (trace) => {
        const apply = shop(trace).own("producer", "apply_async/mail", 50, 4);
        apply.own("client", "LPUSH", 1, 1, { attributes: { "db.system": "redis" } });
        const run = apply.span("consumer", "mailer", "run/mail", 900, 60, {
          attributes: { "celery.action": "run" },
        });
        run.asked().own("client", "SETEX", 55, 2, { attributes: { "db.system": "redis" } });
        run.ask("store", "GET /customer", 5, 20);
      });
    },
  },
  {
    name: "mixture-dapr-topic",
    setting: withMailer,
    make: (world) =>
      world.every(20, (trace) => {
        const page = shop(trace, { pod: 0 });
        const publish = page
          .own("client", "POST /v1.0/publish", 45, 10)
          .own("producer", "pubsub/orders", 1, 6);
        const topic = publish.span("consumer", "mailer", "pubsub/orders", 300, 40, onPod("mailer", 0));
        topic.asked().own("server", "POST /orders", 1, 36);
      }),
  },
  {
    name: "mixture-fan-out-by-a-topic",
    setting: { services: ["web", "search", "store", "mailer", "printer"] },
    make: (world) =>
      world.every(20, (trace) => {
        const sent = trace.user("web", "POST /order", 40).own("producer", "orders send", 30, 3);
        for (const [service, afterMs, ms] of [
          ["mailer", 60, 30],
          ["printer", 90, 200],
          ["search", 900, 15],
        ] as const)
          sent.span("consumer", service, "orders process", afterMs, ms, operation("process")).asked();
        sent.span("consumer", "mailer", "orders process", 2_000, 30, operation("process")).asked();
      }),
  },
  {
    name: "mixture-worker-that-calls-the-entry-back",
    setting: withMailer,
    make: (world) => {
      world.every(20, (trace) => shop(trace).own("producer", "orders send", 50, 3));
      world.every(10, (trace) => {
        const task = trace.span("consumer", "mailer", "orders process", 150, operation("process")).asked();
        task.ask("web", "POST /done", 20, 100);
      });
    },
  },
  {
    name: "mixture-entry-that-asks-itself-by-a-timer",
    make: (world) => {
      shops(world);
      world.every(5, (trace) =>
        trace.span("internal", "web", "warm cache", 400).ask("web", "GET /warm", 20, 300),
      );
    },
  },
  {
    name: "mixture-context-that-goes-round",
    setting: withMailer,
    make: (world) =>
      world.every(15, (trace) => {
        let page = shop(trace);
        for (let round = 0; round < 3; round += 1) {
          const task = page
            .own("producer", "orders send", 50, 2)
            .span("consumer", "mailer", "orders process", 400, 30);
          page = task.asked().ask("web", "POST /done", 5, 20);
        }
      }),
  },
  {
    name: "mixture-links-instead-of-parents-at-every-service",
    make: (world) => {
      world.every(20, (trace) => trace.user("web", "GET /", 60).own("client", "GET", 5, 40));
      world.every(20, (trace) => trace.span("server", "search", "GET /search", 38).asked());
    },
  },
  {
    name: "mixture-graphql-gateway-of-a-federation",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "query Cart", 400, {
          attributes: { "graphql.operation.type": "query" },
        });
        page.own("internal", "query plan", 1, 3);
        const fetch = page.own("internal", "parallel", 5, 380);
        fetch.ask("search", "POST /graphql", 1, 350);
        const chain = fetch.own("internal", "sequence", 1, 370);
        chain.ask("store", "POST /graphql", 1, 100);
        chain.ask("store", "POST /graphql", 110, 200);
      }),
  },
  {
    name: "mixture-answers-of-a-model-in-pieces",
    make: (world) => {
      shops(world);
      const attributes = { "http.response.header.content-type": ["text/event-stream; charset=utf-8"] };
      world.every(5, (trace) => {
        const chat = trace.span("server", "web", "POST /v1/chat", 3_000, { attributes });
        chat.ask("store", "GET /history", 10, 30);
      });
    },
  },
  {
    name: "mixture-streams-of-all-lengths-by-their-names",
    make: (world) => {
      shops(world);
      for (const name of [
        "GET /ws",
        "/socket.io/",
        "GET /api/sse/:topic",
        "shop.Prices/Watch",
        "shop.Prices/StreamAll",
      ])
        world.every(1, (trace) => trace.span("server", "web", name, 400 + 40_000 * world.rng() ** 2));
    },
  },
  {
    name: "mixture-stream-through-a-gateway-of-others",
    make: (world) => {
      shops(world);
      world.every(1, (trace) => {
        const gateway = trace.span("server", "edge", "GET /live", 15_010, inNamespace("edge"));
        const attributes = { "http.request.header.upgrade": ["websocket"], "url.scheme": "wss" };
        gateway.own("client", "GET", 1, 15_005).span("server", "web", "GET /live", 1, 15_000, { attributes });
      });
    },
  },
  {
    name: "mixture-cancelled-and-the-callee-never-ended",
    make: (world) =>
      world.every(20, (trace, number) => {
        if (number % 10 > 0) return shop(trace);
        const page = trace.user("web", "GET /", 30, { failed: true });
        return page.own("client", "GET /search", 5, 20, { failed: true });
      }),
  },
  {
    name: "mixture-deadline-passed-on-by-grpc",
    make: (world) =>
      world.every(20, (trace, number) => {
        const isCut = number % 6 === 0;
        const attributes = { "rpc.system": "grpc", "rpc.grpc.status_code": isCut ? 4 : 0 };
        const page = trace.user("web", "shop.Web/Page", isCut ? 200 : 60, { attributes, failed: isCut });
        const call = page.own("client", "shop.Search/Find", 5, isCut ? 190 : 50, {
          attributes,
          failed: isCut,
        });
        const find = call.span("server", "search", "shop.Search/Find", 1, isCut ? 250 : 45, { attributes });
        find.asked().calledBy("web").ask("store", "shop.Store/Get", 5, 30);
      }),
  },
  {
    name: "mixture-queue-in-front-of-the-slow-half",
    setting: withMailer,
    make: (world) => {
      for (const service of ["mailer", "store"])
        world.exporting.set(service, { everySeconds: 5, delaySeconds: 3 });
      world.every(20, (trace) => {
        const sent = shop(trace).own("producer", "orders send", 50, 3);
        sent.span("consumer", "mailer", "orders process", 12_000, 40, operation("process")).asked();
      });
    },
  },
  {
    name: "mixture-tail-sampler-and-shared-ids",
    setting: zipkin,
    make: (world) => {
      for (const service of ["web", "search", "store"])
        world.exporting.set(service, { everySeconds: 1, delaySeconds: 20 });
      world.every(20, (trace) =>
        sharing(sharing(trace.user("web", "get /", 60), "search", [5, 40]), "store", [5, 20]),
      );
    },
  },
  {
    name: "mixture-services-sampled-at-two-rates",
    make: (world) =>
      world.every(80, (trace) => {
        const chance = trace.world.rng();
        const half = { traceState: "ot=th:8", isLost: chance > 0.5 };
        const quarter = { traceState: "ot=th:c", isLost: chance > 0.25 };
        const page = trace.user("web", "GET /", 60, half);
        page
          .own("client", "GET", 5, 42, half)
          .span("server", "search", "GET", 1, 40, quarter)
          .asked()
          .calledBy("web");
      }),
  },
  {
    name: "mixture-probes-behind-proxies-that-trace",
    make: (world) => {
      shops(world);
      world.every(5, (trace) => {
        const attributes = { "user_agent.original": "kube-probe/1.33" };
        const proxy = trace.span("server", "web", "GET /healthz", 4, { attributes, ...onPod("web", 0) });
        const inner = proxy.own("client", "GET /healthz", 1, 2).own("server", "GET /healthz", 1, 1);
        inner.own("client", "SELECT 1", 0.2, 0.5);
      });
    },
  },
  {
    name: "mixture-readiness-that-asks-the-services-below",
    setting: { probePaths: ["/ready"] },
    make: (world) => {
      shops(world);
      world.every(4, (trace) => {
        const ready = trace.span("server", "web", "GET /ready", 20);
        ready.own("client", "GET /ready", 1, 15).span("server", "search", "GET /ready", 1, 12);
      });
    },
  },
  {
    name: "mixture-linkerd-and-a-load-generator-in-front",
    make: (world) =>
      world.every(20, (trace) => {
        const outside = trace.span("client", "slow-cooker", "GET", 100);
        const inbound = outside.span("server", "linkerd-proxy", "web:80", 1, 64, onPod("web", 0));
        const page = inbound.span("server", "web", "GET /", 1, 60, { pod: 0 });
        page
          .own("client", "GET", 5, 40)
          .span("server", "search", "GET /search", 2, 36, { pod: 1 })
          .asked()
          .calledBy("web");
        const { truth } = trace.world;
        truth.note(truth.requests, "web", inbound);
        truth.note(truth.users, "web", inbound);
      }),
  },
  {
    name: "mixture-one-trace-for-each-session-of-a-browser",
    make: (world) => {
      const sessions = Array.from({ length: 30 }, () => [world.id(32), world.id(16)] as const);
      world.every(20, (trace, number) => {
        const [traceId = "", parent = ""] = sessions[number % sessions.length] ?? [];
        const of = { traceId };
        const page = trace.user("web", "GET /", 60, { ...of, parent });
        const call = page.own("client", "GET", 5, 40, of);
        call.span("server", "search", "GET /search", 1, 38, of).asked().calledBy("web");
      });
    },
  },
  {
    name: "mixture-names-of-a-mesh-and-libraries-of-their-own",
    make: (world) =>
      world.every(20, (trace) => {
        const named = (service: string): More =>
          onPod(service, 0, { resource: { "service.name": `${service}.shop` } });
        const page = trace.user("web", "GET /", 80, named("web"));
        const find = page.ask("search", "GET /search", 5, 60, named("search"));
        const query = find.span("client", "hibernate", "select item", 5, 40, onPod("search", 0));
        query.span("client", "jdbc", "SELECT", 1, 38, onPod("search", 0));
      }),
  },
  {
    name: "mixture-a-twentieth-of-the-requests-refused",
    isLost: true,
    make: (world) =>
      world.every(20, (trace, number) => {
        shop(trace);
        if (number % 20 > 0) return;
        const index = world.spans.findLastIndex(({ kind, service }) => service === "search" && kind === 2);
        const span = world.spans[index];
        if (span !== undefined) world.spans[index] = { ...span, endMs: span.startMs - 3 };
      }),
  },
  {
    name: "mixture-jobs-of-a-cron-pod-that-call-in",
    setting: withMailer,
    make: (world) => {
      shops(world);
      world.every(4, (trace) => {
        const job = trace.span("internal", "mailer", "nightly digest", 500).asked();
        job.ask("store", "GET /all", 5, 300);
      });
    },
  },
];
