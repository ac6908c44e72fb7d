import type { Made, More, Trace } from "../traffic.ts";
import { browse, shop, shops } from "./case.ts";
import type { RequestCase } from "./case.ts";

/** A request of a user that comes through something that is traced as well. */
function through(caller: Made): Made {
  return browse(caller.span("server", "web", "GET /", 2, 60).asked().awaited("GET /"));
}

const agent = (name: string): More => ({ attributes: { "user_agent.original": name } });
const inNamespace = (name: string): More => ({ resource: { "k8s.namespace.name": name } });

/** The same application somewhere else: slower, and with more load. */
function elsewhere(trace: Trace, more: More): void {
  const page = trace.span("server", "web", "GET /", 900, more);
  page.own("client", "GET /search", 5, 800).span("server", "search", "GET /search", 1, 700, more);
}

export const EDGES: readonly RequestCase[] = [
  {
    name: "browser-in-front",
    make: (world) => world.every(20, (trace) => through(trace.span("client", "browser", "HTTP GET", 200))),
  },
  {
    name: "mobile-in-front",
    make: (world) =>
      world.every(20, (trace) => {
        const screen = trace.span("internal", "android", "open screen", 400);
        through(screen.own("client", "GET", 20, 200));
      }),
  },
  {
    name: "load-generator-in-front",
    make: (world) =>
      world.every(20, (trace) => {
        const user = trace.span("internal", "load-generator", "user_browse", 500);
        for (const afterMs of [10, 200]) through(user.own("client", "GET", afterMs, 100));
      }),
  },
  {
    name: "gateway-of-another-namespace",
    make: (world) =>
      world.every(20, (trace) => {
        const gateway = trace.span("server", "gateway", "GET /*", 90, inNamespace("edge"));
        const page = gateway
          .own("client", "GET", 2, 80)
          .span("server", "web", "GET /", 2, 60, inNamespace("shop"));
        browse(page.asked().awaited("GET /"));
      }),
  },
  {
    name: "ingress-with-server-spans-alone",
    make: (world) => world.every(20, (trace) => through(trace.span("server", "ingress-nginx", "GET /", 90))),
  },
  {
    name: "callers-that-send-no-spans",
    make: (world) => world.every(20, (trace) => shop(trace, { parent: trace.world.id(16) })),
  },
  {
    name: "some-users-traced-and-some-not",
    make: (world) =>
      world.every(20, (trace, number) => {
        if (number % 2 === 0) shop(trace);
        else through(trace.span("client", "browser", "GET", 100));
      }),
  },
  {
    name: "probes-of-the-kubelet",
    make: (world) => {
      shops(world);
      world.every(5, (trace) => trace.span("server", "web", "GET /ready", 2, agent("kube-probe/1.34")));
    },
  },
  {
    name: "probes-by-declared-path",
    setting: { probePaths: ["/ready"] },
    make: (world) => {
      shops(world);
      world.every(5, (trace) => trace.span("server", "search", "GET /ready", 2));
    },
  },
  {
    name: "health-checks-of-a-load-balancer",
    make: (world) => {
      shops(world);
      for (const name of ["ELB-HealthChecker/2.0", "GoogleHC/1.0", "Envoy/HC", "Consul Health Check"])
        world.every(3, (trace) => trace.span("server", "web", "GET /lb-status", 1, agent(name)));
    },
  },
  {
    name: "health-checks-by-grpc",
    make: (world) => {
      shops(world);
      world.every(10, (trace) => trace.span("server", "search", "grpc.health.v1.Health/Check", 1));
      world.every(0.2, (trace) => trace.span("server", "store", "grpc.health.v1.Health/Watch", 20_000));
    },
  },
  {
    name: "health-checks-by-their-usual-paths",
    make: (world) => {
      shops(world);
      for (const path of ["/healthz", "/livez", "/actuator/health", "/-/healthy"])
        world.every(3, (trace) => trace.span("server", "web", `GET ${path}`, 1, agent("curl/8.5.0")));
    },
  },
  {
    name: "scrapes-of-metrics",
    make: (world) => {
      shops(world);
      world.every(3, (trace) => trace.span("server", "web", "GET /metrics", 40, agent("Prometheus/2.42.0")));
    },
  },
  {
    name: "synthetic-monitor-in-front",
    make: (world) => {
      shops(world);
      world.every(2, (trace) => through(trace.span("client", "synthetics", "check page", 100)));
    },
  },
  {
    name: "staging-namespace",
    make: (world) => {
      world.every(20, (trace) => {
        const page = trace.user("web", "GET /", 60, inNamespace("shop"));
        page.ask("search", "GET /search", 5, 40, inNamespace("shop"));
      });
      world.every(30, (trace) => elsewhere(trace, inNamespace("staging")));
    },
  },
  {
    name: "two-clusters-told-apart-by-pods",
    make: (world) => {
      const place = (name: string): More => ({ resource: { "k8s.cluster.name": name } });
      world.every(20, (trace, number) => {
        const page = trace.user("web", "GET /", 60, { ...place("eu"), pod: number % 2 });
        page.ask("search", "GET /search", 5, 40, { ...place("eu"), pod: 0 });
      });
      world.every(30, (trace) => elsewhere(trace, { ...place("us"), pod: 7 }));
    },
  },
  {
    name: "two-clusters-that-nothing-tells-apart",
    isLost: true,
    make: (world) => {
      world.every(20, (trace) => shop(trace, { resource: { "k8s.cluster.name": "eu" } }));
      world.every(30, (trace) => elsewhere(trace, { resource: { "k8s.cluster.name": "us" } }));
    },
  },
  {
    name: "server-sent-events",
    make: (world) => {
      shops(world);
      const attributes = { "http.response.header.content-type": ["text/event-stream"] };
      world.every(2, (trace) => trace.span("server", "web", "GET /events", 9_000, { attributes }));
    },
  },
  {
    name: "websockets",
    make: (world) => {
      shops(world);
      const attributes = { "http.method": "GET", "http.status_code": 101 };
      world.every(2, (trace) => {
        const socket = trace.span("server", "web", "GET /socket", 12_000, { attributes });
        socket.ask("store", "GET /item", 3_000, 20);
      });
    },
  },
  {
    name: "long-polls",
    make: (world) => {
      shops(world);
      world.every(2, (trace) => trace.span("server", "web", "GET /poll", 27_000));
    },
  },
  {
    name: "grpc-stream-of-users",
    make: (world) => {
      shops(world);
      world.every(1, (trace) => trace.span("server", "web", "shop.Web/Watch", 40_000));
    },
  },
  {
    name: "grpc-stream-between-services",
    make: (world) => {
      shops(world);
      world.every(1, (trace) => {
        const call = trace.span("client", "web", "shop.Search/Watch", 42_000);
        call.span("server", "search", "shop.Search/Watch", 1, 41_000);
      });
    },
  },
  {
    name: "bidirectional-stream-that-asks-for-each-message",
    make: (world) => {
      shops(world);
      world.every(0.5, (trace) => {
        const call = trace.span("client", "web", "shop.Search/Talk", 30_000);
        const talk = call.span("server", "search", "shop.Search/Talk", 1, 29_000);
        for (let message = 0; message < 20; message += 1)
          talk.ask("store", "GET /item", 100 + 1_400 * message, 20);
      });
    },
  },
  {
    name: "streams-that-end-in-failure",
    make: (world) => {
      shops(world);
      world.every(1, (trace, number) =>
        trace.span("server", "web", "shop.Web/Watch", 40_000, { failed: number % 3 === 0 }),
      );
    },
  },
];
