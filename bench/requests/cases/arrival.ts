import type { SentSpan, World } from "../traffic.ts";
import { browse, shop, shops } from "./case.ts";
import type { RequestCase } from "./case.ts";

const exporting = (world: World, everySeconds: number, delaySeconds: number): void => {
  for (const service of ["web", "search", "store"])
    world.exporting.set(service, { everySeconds, delaySeconds });
};
const sentAgain = (span: SentSpan, afterMs: number): SentSpan => ({
  ...span,
  arrivesMs: span.arrivesMs + afterMs,
});

export const ARRIVAL: readonly RequestCase[] = [
  {
    name: "default-exporters-and-a-collector",
    make: (world) => {
      exporting(world, 5, 2);
      shops(world);
    },
  },
  {
    name: "nine-seconds-late",
    make: (world) => {
      exporting(world, 5, 4.5);
      shops(world);
    },
  },
  {
    name: "tail-sampler-that-holds-traces",
    make: (world) => {
      exporting(world, 1, 30);
      shops(world);
    },
  },
  {
    name: "one-service-late",
    make: (world) => {
      world.exporting.set("store", { everySeconds: 5, delaySeconds: 6 });
      shops(world);
    },
  },
  {
    name: "later-than-grace-that-is-set",
    setting: { graceSeconds: 3 },
    isLost: true,
    make: (world) => {
      exporting(world, 5, 5);
      shops(world);
    },
  },
  {
    name: "everything-sent-twice-by-a-retry",
    make: (world) => {
      shops(world);
      world.spans.push(...world.spans.map((span) => sentAgain(span, 7_000)));
    },
  },
  {
    name: "a-fifth-sent-twice-at-once",
    make: (world) => {
      shops(world);
      const again = world.spans.filter((_, index) => index % 5 === 0);
      world.spans.push(...again.map((span) => sentAgain(span, 0)));
    },
  },
  {
    name: "out-of-order",
    make: (world) => {
      shops(world);
      for (const span of world.spans) span.arrivesMs += 3_000 * world.rng();
    },
  },
  {
    name: "clock-of-search-three-seconds-ahead",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "GET /", 60);
        page.ask("search", "GET /search", 5, 40, { aheadMs: 3_000 });
      }),
  },
  {
    name: "clock-of-store-eight-seconds-behind",
    make: (world) =>
      world.every(20, (trace) => {
        const find = trace.user("web", "GET /", 60).ask("search", "GET /search", 5, 40);
        find.ask("store", "GET /item", 5, 20, { aheadMs: -8_000 });
      }),
  },
  {
    name: "clock-of-store-a-quarter-of-an-hour-behind",
    isLost: true,
    make: (world) =>
      world.every(20, (trace) => {
        const find = trace.user("web", "GET /", 60).ask("search", "GET /search", 5, 40);
        find.ask("store", "GET /item", 5, 20, { aheadMs: -900_000 });
      }),
  },
  {
    name: "one-trace-id-for-all",
    make: (world) => {
      const traceId = world.id(32);
      world.every(10, (trace) => {
        const page = trace.user("web", "GET /", 60, { traceId });
        page
          .own("client", "GET /search", 5, 40, { traceId })
          .span("server", "search", "GET /search", 1, 38, { traceId })
          .asked()
          .calledBy("web");
      });
    },
  },
  {
    name: "lost-inner-spans",
    make: (world) =>
      world.every(20, (trace) => {
        const page = trace.user("web", "GET /", 60);
        const handler = page.own("internal", "handler", 1, 58, { isLost: true });
        browse(handler);
      }),
  },
  {
    name: "middle-service-without-spans",
    setting: { services: ["web", "store"] },
    make: (world) =>
      world.every(20, (trace) => {
        const call = trace.user("web", "GET /", 60).own("client", "GET /search", 5, 40);
        const middle = call.span("server", "search", "GET /search", 1, 38, { isLost: true });
        middle
          .own("client", "GET /item", 5, 22, { isLost: true })
          .span("server", "store", "GET /item", 1, 20)
          .asked();
      }),
  },
  {
    name: "sampled-and-said",
    make: (world) => {
      world.isSampled = () => world.rng() < 0.25;
      const traceState = "ot=th:c";
      world.every(80, (trace) => {
        const page = trace.user("web", "GET /", 60, { traceState });
        const find = page.own("client", "GET", 5, 42, { traceState });
        find.span("server", "search", "GET /search", 1, 40, { traceState }).asked().calledBy("web");
      });
    },
  },
  {
    name: "long-requests",
    setting: { objectiveMs: 10_000 },
    make: (world) =>
      world.every(10, (trace) => {
        const page = trace.user("web", "POST /report", 9_000);
        page.ask("search", "GET /search", 100, 8_500).ask("store", "GET /item", 1_000, 4_000);
      }),
  },
  {
    name: "requests-longer-than-a-window",
    setting: { objectiveMs: 20_000, windowSeconds: 10 },
    make: (world) => {
      world.every(5, (trace) => {
        const page = trace.user("web", "POST /report", 15_000);
        page.ask("search", "GET /search", 100, 14_000);
      });
    },
  },
  {
    name: "large-traces",
    make: (world) =>
      world.every(2, (trace, number) => {
        if (number % 4 > 0) return shop(trace);
        const page = trace.user("web", "GET /list", 900);
        for (let query = 0; query < 3_000; query += 1) page.own("client", "SELECT", 10 + 0.28 * query, 0.2);
        return page;
      }),
  },
  {
    name: "spans-without-an-end",
    isLost: true,
    make: (world) =>
      world.every(20, (trace, number) => {
        shop(trace);
        if (number % 2 > 0) return;
        const last = world.spans.findLast(({ kind, service }) => service === "web" && kind === 2);
        if (last !== undefined) world.spans[world.spans.indexOf(last)] = { ...last, endMs: 0 };
      }),
  },
  {
    name: "pods-come-and-go",
    make: (world) => world.every(20, (trace, number) => shop(trace, { pod: Math.floor(number / 300) })),
  },
];
