import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { JaegerOptions } from "@tradewind/predictor/sources/jaeger/options.ts";
import { JaegerSource } from "@tradewind/predictor/sources/jaeger/jaeger-source.ts";
import type { SpanSource } from "@tradewind/predictor/sources/source.ts";
import { TempoOptions } from "@tradewind/predictor/sources/tempo/options.ts";
import { TempoSource } from "@tradewind/predictor/sources/tempo/tempo-source.ts";
import { hexId } from "@tradewind/predictor/sources/otlp/ids.ts";
import { nestsDeeperThan } from "@tradewind/predictor/sources/otlp/json-depth.ts";
import { SeenTraces } from "@tradewind/predictor/sources/traces/seen-traces.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import type { SpanRecord, SpanResource } from "@tradewind/predictor/window/span.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import { FakeServer, json } from "../../../core/net/endpoint/fake-server.ts";
import { ofService, SERVICES, windowsFromSpans } from "../one-traffic.ts";
import { jaegerTraces, tempoTrace, traffic } from "../traffic.ts";

const END_MS = 1_800_000_000_000;
const INTERVAL = { startMs: END_MS - 60_000, endMs: END_MS };
const TRAFFIC = traffic(INTERVAL.startMs, 60, 5, 11);
/** The same with the probes of a kubelet among the requests. */
const PROBED = {
  ...TRAFFIC,
  spans: [...TRAFFIC.spans, ...Array.from({ length: 30 }, (_, index) => probe(index))],
};
const TRUTH = windowsFromSpans(TRAFFIC, INTERVAL.startMs, INTERVAL.endMs);

function probe(index: number): SpanRecord {
  return {
    traceId: `ab${String(index).padStart(30, "0")}`,
    spanId: `cd${String(index).padStart(14, "0")}`,
    resource: { service: index % 2 === 0 ? "front" : "cart" },
    name: "GET /readyz",
    kind: SPAN_KIND.server,
    startMs: INTERVAL.startMs + 2_000 * index,
    durationMs: 0.25,
    userAgent: "kube-probe/1.34",
  };
}

let server: FakeServer;
const sources: SpanSource[] = [];
const jaeger = (options: Record<string, unknown> = {}, entries = ["front"]): JaegerSource => {
  const made = new JaegerSource(
    JaegerOptions.parse({ url: server.url, maxAttempts: 1, ...options }),
    () => entries,
  );
  sources.push(made);
  return made;
};
const tempo = (options: Record<string, unknown> = {}, entries = ["front"]): TempoSource => {
  const made = new TempoSource(
    TempoOptions.parse({ url: server.url, maxAttempts: 1, ...options }),
    () => entries,
  );
  sources.push(made);
  return made;
};

beforeEach(async () => {
  server = await FakeServer.start(() => undefined);
});
afterEach(async () => {
  for (const source of sources.splice(0)) await source.close();
  await server.stop();
});

/** Answers as Jaeger's API v1 does: at most `limit` traces of the service within the time. */
function serveJaeger(served = TRAFFIC): void {
  server.handler = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    if (pathname === "/api/services") return json(response, { data: ["front", "cart"], errors: null });
    const [from, to] = [
      Number(searchParams.get("start")) / 1_000,
      Number(searchParams.get("end")) / 1_000 + 0.001,
    ];
    return json(response, {
      data: jaegerTraces(served, from, to).slice(0, Number(searchParams.get("limit"))),
      errors: null,
    });
  };
}

function serveTempo(served = TRAFFIC): void {
  const ids = (fromMs: number, toMs: number): string[] => [
    ...new Set(
      served.spans
        .filter(({ parentId, startMs }) => parentId === undefined && startMs >= fromMs && startMs < toMs)
        .map(({ traceId }) => traceId),
    ),
  ];
  server.handler = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    if (pathname === "/api/search") {
      const found = ids(Number(searchParams.get("start")) * 1_000, Number(searchParams.get("end")) * 1_000);
      return json(response, {
        traces: found
          .slice(0, Number(searchParams.get("limit")))
          .map((id) => ({ traceID: id.replace(/^0+/, ""), rootServiceName: "front" })),
      });
    }
    return json(response, tempoTrace(served, pathname.split("/").at(-1)!.padStart(32, "0")));
  };
}

async function windowsFrom(source: SpanSource): Promise<WindowSet> {
  const builder = new WindowBuilder({ windowSeconds: 60, namespace: "shop" });
  await source.pull(INTERVAL, (batch) => builder.add(batch, END_MS));
  return builder.build(INTERVAL.startMs, INTERVAL.endMs, NO_RESOURCES, END_MS + 60_000);
}

/** The same spans came through: rates, errors and edges are equal, latencies to the microsecond. */
function expectTruth(set: WindowSet): void {
  for (const service of SERVICES) {
    const [seen, truth] = [ofService(set, service), ofService(TRUTH, service)];
    expect(seen.requestsPerSecond).toBeCloseTo(truth.requestsPerSecond!, 9);
    expect(seen.errorRatio).toBeCloseTo(truth.errorRatio!, 9);
    for (const key of ["meanSeconds", "p50Seconds", "p95Seconds", "p99Seconds"] as const) {
      expect(Math.abs(seen.responseLatency![key] - truth.responseLatency![key])).toBeLessThanOrEqual(
        2e-6 + 0.02 * truth.responseLatency![key],
      );
      expect(Math.abs(seen.ownLatency![key] - truth.ownLatency![key])).toBeLessThanOrEqual(
        2e-6 + 0.02 * truth.ownLatency![key],
      );
    }
    expect(seen.callees).toEqual(truth.callees);
  }
  expect(set.flows.map(({ flow, services }) => [flow, [...services].sort()])).toEqual(
    TRUTH.flows.map(({ flow, services }) => [flow, [...services].sort()]),
  );
}

describe("JaegerSource", () => {
  it("gives no request and no route for the probes of a kubelet, by API v1", async () => {
    serveJaeger(PROBED);
    expectTruth(await windowsFrom(jaeger({ limit: 10_000 })));
  });

  it("gives no request and no route for the probes of a kubelet, by API v3", async () => {
    server.handler = (_request, response) => {
      const ids = [...new Set(PROBED.spans.map(({ traceId }) => traceId))];
      const traces = ids.map((id) => tempoTrace(PROBED, id) as { batches: unknown[] });
      return json(response, { result: { resourceSpans: traces.flatMap(({ batches }) => batches) } });
    };
    expectTruth(await windowsFrom(jaeger({ api: "v3", services: ["front"], limit: 10_000 })));
  });

  it("gives the same windows as the spans pushed to us", async () => {
    serveJaeger();
    expectTruth(await windowsFrom(jaeger()));
    expect(server.requests).toHaveLength(1);
  });

  it("splits the time where an answer is full, and hands no trace out twice", async () => {
    serveJaeger();
    const source = jaeger({ limit: 50 });
    expectTruth(await windowsFrom(source));
    expect(server.requests.length).toBeGreaterThan(4);
    const again = await source.pull(INTERVAL, () => expect.unreachable("a trace seen before"));
    expect(again.traces).toBe(0);
  });

  it("gives nothing rather than a part when there are more traces than may be fetched", async () => {
    serveJaeger();
    const source = jaeger({ limit: 5, maxRequests: 4 });
    await expect(source.pull(INTERVAL, () => expect.unreachable("a part"))).rejects.toMatchObject({
      failure: "too-large",
      remedy: /limit|sample/,
    });
    expect(source.endpoint.health.failuresTotal["too-large"]).toBe(1);
  });

  it("reads API v3, OTLP", async () => {
    server.handler = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
      expect(pathname).toBe("/api/v3/traces");
      expect(Date.parse(searchParams.get("query.start_time_min")!)).toBe(INTERVAL.startMs);
      const ids = [...new Set(TRAFFIC.spans.map(({ traceId }) => traceId))];
      const resourceSpans = ids.flatMap((id) => (tempoTrace(TRAFFIC, id) as { batches: unknown[] }).batches);
      json(response, { result: { resourceSpans } });
    };
    expectTruth(await windowsFrom(jaeger({ api: "v3", limit: 10_000 })));
  });

  it.each([
    ["a list", (parts: unknown[]): string => JSON.stringify(parts)],
    [
      "one object on each line",
      (parts: unknown[]): string => parts.map((part) => JSON.stringify(part)).join("\n"),
    ],
    [
      "objects over several lines, with an empty one at the end",
      (parts: unknown[]): string =>
        `${parts.map((part) => JSON.stringify(part, undefined, 2)).join("\n\n")}\n{"result":{}}\n`,
    ],
    [
      "traces without a result around them",
      (parts: unknown[]): string =>
        JSON.stringify((parts as { result: unknown }[]).map(({ result }) => result)),
    ],
  ])("reads answers of API v3 that are %s", async (_what, rendered) => {
    const ids = [...new Set(TRAFFIC.spans.map(({ traceId }) => traceId))];
    const parts = ids.map((id) => {
      const { batches } = tempoTrace(TRAFFIC, id) as { batches: unknown[] };
      return { result: { resourceSpans: batches } };
    });
    server.handler = (_request, response) => json(response, rendered(parts));
    expectTruth(await windowsFrom(jaeger({ api: "v3", limit: 10_000 })));
  });

  it.each([
    ["an error in a stream", '{"result":{}}\n{"error":{"grpcCode":8,"message":"too many"}}', /too many/],
    ["something else", '{"data":[]}', /holds no traces/],
    ["no object", "[7]", /not understood/],
    ["half of an object", '{"result":{}}\n{"resu', /not understood/],
  ])("takes %s in place of traces of API v3 for a failure, not for none", async (_what, body, words) => {
    server.handler = (_request, response) => json(response, body);
    await expect(jaeger({ api: "v3" }).pull(INTERVAL, () => undefined)).rejects.toMatchObject({
      failure: "bad-reply",
      message: words,
    });
  });

  it.each(["v1", "v3"])("counts sampled spans up by their trace state, by API %s", async (api) => {
    const sampled = { ...TRAFFIC, spans: TRAFFIC.spans.map((span) => ({ ...span, adjustedCount: 10 })) };
    if (api === "v1") serveJaeger(sampled);
    else {
      const ids = [...new Set(TRAFFIC.spans.map(({ traceId }) => traceId))];
      const batches = ids.flatMap((id) => (tempoTrace(sampled, id) as { batches: unknown[] }).batches);
      server.handler = (_request, response) => json(response, { result: { resourceSpans: batches } });
    }
    const set = await windowsFrom(jaeger({ api, limit: 10_000 }));
    for (const service of SERVICES) {
      const { requestsPerSecond = 0 } = ofService(TRUTH, service);
      expect(ofService(set, service).requestsPerSecond! / requestsPerSecond).toBeCloseTo(10, 3);
    }
  });

  it.each([
    [
      "its name and not its uid",
      { "k8s.pod.uid": "0a1b", "k8s.pod.name": "front-1", hostname: "node-a" },
      "front-1",
    ],
    ["its uid where its name is missing", { hostname: "node-a", "k8s.pod.uid": "0a1b" }, "0a1b"],
    ["its host where nothing else is given", { hostname: "node-a" }, "node-a"],
  ])("calls a pod by %s, and reads its namespace", async (_what, attributes, instance) => {
    const tags = Object.entries({ ...attributes, "k8s.namespace.name": "shop" }).map(([key, value]) => ({
      key,
      type: "string",
      value,
    }));
    const [first] = jaegerTraces(TRAFFIC, INTERVAL.startMs, INTERVAL.endMs) as Record<string, unknown>[];
    const processes = Object.keys(first!["processes"] as object).map((id) => [
      id,
      { serviceName: `service-${id}`, tags },
    ]);
    const trace = { ...first, processes: Object.fromEntries(processes) as unknown };
    server.handler = (_request, response) => json(response, { data: [trace] });
    const seen: SpanResource[] = [];
    await jaeger().pull(INTERVAL, ({ resources }) => void seen.push(...resources));
    expect(seen.length).toBeGreaterThan(0);
    for (const resource of seen) expect(resource).toMatchObject({ instance, namespace: "shop" });
  });

  it("leaves out and counts spans that it cannot understand, and keeps the others", async () => {
    const [first, second] = jaegerTraces(TRAFFIC, INTERVAL.startMs, INTERVAL.endMs) as {
      spans: Record<string, unknown>[];
    }[];
    first!.spans[0] = { ...first!.spans[0], duration: -5 };
    first!.spans[1] = { ...first!.spans[1], processID: "nobody" };
    server.handler = (_request, response) => json(response, { data: [first, second, { spans: "x" }, null] });
    const source = jaeger();
    const result = await source.pull(INTERVAL, () => undefined);
    expect(result).toMatchObject({ traces: 2, leftOut: 4 });
    expect(source.endpoint.health.partialResultsTotal).toBe(1);
  });

  it("refuses an answer nested beyond reason without parsing it", async () => {
    server.handler = (_request, response) =>
      json(response, `{"data":${"[".repeat(5_000)}${"]".repeat(5_000)}}`);
    await expect(jaeger().pull(INTERVAL, () => undefined)).rejects.toMatchObject({
      failure: "bad-reply",
      message: /nests deeper/,
    });
  });

  it("tells the doctor when it has no traces of the service", async () => {
    serveJaeger();
    expect(await jaeger().check(END_MS)).toMatchObject([{ level: "ok", message: /2 services/ }]);
    expect(await jaeger({ services: ["frnt"] }).check(END_MS)).toMatchObject([
      { level: "ok" },
      { level: "problem", message: /'frnt'/, remedy: /front, cart/ },
    ]);
  });
});

describe("TempoSource", () => {
  it("gives no request and no route for the probes of a kubelet", async () => {
    serveTempo(PROBED);
    expectTruth(await windowsFrom(tempo({ limit: 1_000, maxTraces: 1_000 })));
  });

  it("gives the same windows as the spans pushed to us", async () => {
    serveTempo();
    expectTruth(await windowsFrom(tempo({ limit: 1_000, maxTraces: 1_000 })));
    expect(server.requests[0]?.url.searchParams.get("q")).toBe('{ resource.service.name = "front" }');
  });

  it("counts a sample of the traces up to all of them", async () => {
    serveTempo();
    const set = await windowsFrom(tempo({ limit: 1_000, maxTraces: 60 }));
    expect(ofService(set, "front").requestsPerSecond).toBeCloseTo(
      ofService(TRUTH, "front").requestsPerSecond!,
      6,
    );
  });

  it("counts sampled spans up by their trace state, also those of a sample of the traces", async () => {
    serveTempo({ ...TRAFFIC, spans: TRAFFIC.spans.map((span) => ({ ...span, adjustedCount: 10 })) });
    for (const maxTraces of [1_000, 60]) {
      const set = await windowsFrom(tempo({ limit: 1_000, maxTraces }));
      const { requestsPerSecond = 0 } = ofService(TRUTH, "front");
      expect(ofService(set, "front").requestsPerSecond! / requestsPerSecond).toBeCloseTo(10, 3);
    }
  });

  it.each([
    ["is whole when asked again", 1, /^nothing is missing$/],
    ["stays partial", 2, /has only a part of \d+ of \d+ traces/],
  ])("asks again for a trace that the server calls partial: one that %s", async (_what, times, missing) => {
    serveTempo();
    const honest = server.handler;
    const asked = new Map<string, number>();
    server.handler = (request, response, body) => {
      const { pathname } = new URL(request.url ?? "", "http://x");
      const id = pathname.split("/").at(-1)!;
      if (!pathname.startsWith("/api/v2/traces/")) return honest(request, response, body);
      asked.set(id, (asked.get(id) ?? 0) + 1);
      const trace = tempoTrace(TRAFFIC, id.padStart(32, "0")) as { batches: unknown[] };
      const isPartial = asked.get(id)! <= times;
      return json(response, {
        trace: { resourceSpans: isPartial ? trace.batches.slice(-1) : trace.batches },
        ...(isPartial && { status: "PARTIAL", message: "trace exceeds maximum size" }),
      });
    };
    const source = tempo({ api: "v2", limit: 1_000, maxTraces: 1_000 });
    const result = await source.pull(INTERVAL, () => undefined);
    expect(result.missing ?? "nothing is missing").toMatch(missing);
    expect(new Set(asked.values())).toEqual(new Set([2]));
  });

  it("tells the doctor of traces that the server has only in part", async () => {
    serveTempo();
    const honest = server.handler;
    server.handler = (request, response, body) => {
      if (request.url?.startsWith("/api/v2/") === true) json(response, { trace: {}, status: "PARTIAL" });
      else honest(request, response, body);
    };
    expect(await tempo({ api: "v2" }).check(END_MS)).toMatchObject([
      { level: "ok" },
      { level: "problem", message: /5 of 5 traces are partial/, remedy: /limit/ },
    ]);
  });

  it("gives nothing when most of the traces cannot be fetched, and says why", async () => {
    serveTempo();
    const honest = server.handler;
    server.handler = (request, response, body) => {
      if (request.url?.startsWith("/api/traces/") === true) json(response, "", 404);
      else honest(request, response, body);
    };
    await expect(
      tempo({ limit: 1_000 }).pull(INTERVAL, () => expect.unreachable("a part")),
    ).rejects.toMatchObject({ message: /only 0 of \d+ traces.*404/ });
  });

  it("tells the doctor whether it finds any trace", async () => {
    serveTempo();
    expect(await tempo().check(END_MS)).toMatchObject([{ level: "ok" }]);
    expect(await tempo().check(END_MS + 86_400_000)).toMatchObject([
      { level: "problem", message: /no trace of the last 15 minutes/ },
    ]);
  });
});

describe("parts that both use", () => {
  it("reads ids in hexadecimal of any length and in base64", () => {
    expect(hexId("abc", 8)).toBe("0000000000000abc");
    expect(hexId("0000000000000000151e8ea44a5cf41c", 8)).toBe("151e8ea44a5cf41c");
    expect(hexId(Buffer.from("00f067aa0ba902b7", "hex").toString("base64"), 8)).toBe("00f067aa0ba902b7");
    for (const wrong of ["", "0000", "x y", 7, undefined, "f".repeat(40), "AAAA="])
      expect(hexId(wrong, 8)).toBeUndefined();
  });

  it("sees depth in bytes, not in quoted brackets", () => {
    const deep = (text: string, max: number): boolean => nestsDeeperThan(Buffer.from(text), max);
    expect(deep('{"a":[[1]]}', 3)).toBe(false);
    expect(deep('{"a":[[1]]}', 2)).toBe(true);
    expect(deep(String.raw`{"a":"[[[[\"[[["}`, 1)).toBe(false);
  });

  it("forgets old traces in bounded space", () => {
    const seen = new SeenTraces(2);
    expect(["a", "b", "a", "c", "b", "d", "e", "a"].map((id) => seen.add(id))).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
      true,
      true,
    ]);
  });
});

it("several entries are asked for each, by stores of traces that are told no service", async () => {
  serveJaeger();
  await windowsFrom(jaeger({}, ["front", "api"]));
  const asked = server.requests.flatMap(({ url }) => url.searchParams.get("service") ?? []);
  expect(new Set(asked)).toEqual(new Set(["front", "api"]));
  serveTempo();
  await windowsFrom(tempo({}, ["front", "api"]));
  const queries = server.requests.flatMap(({ url }) => url.searchParams.get("q") ?? []);
  expect(new Set(queries)).toEqual(
    new Set(['{ resource.service.name = "front" || resource.service.name = "api" }']),
  );
});
