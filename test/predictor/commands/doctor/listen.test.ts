import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { collectorConfig } from "../../../../predictor/commands/doctor/collector-config.ts";
import { heardFindings } from "../../../../predictor/commands/doctor/heard-findings.ts";
import type { Expected } from "../../../../predictor/commands/doctor/heard-findings.ts";
import { HeardTraffic } from "../../../../predictor/commands/doctor/heard-traffic.ts";
import { listen } from "../../../../predictor/commands/doctor/listen.ts";
import { proposeMapping } from "../../../../predictor/commands/doctor/name-mapping.ts";
import type { NamedWorkload } from "../../../../predictor/commands/doctor/name-mapping.ts";
import { DoctorOptions } from "../../../../predictor/commands/doctor/options.ts";
import { SPAN_KIND, SpanBatch } from "../../../../predictor/window/span.ts";
import type { SpanResource } from "../../../../predictor/window/span.ts";
import { metricsProtobuf } from "../../sources/otlp/pushed-metrics/otlp-metrics.ts";
import { aSpan, protobufRequest } from "../../sources/otlp/messages.ts";

const NOW_MS = 1_800_000_000_000;

const workload = (name: string, more: Partial<NamedWorkload> = {}): NamedWorkload => ({
  namespace: "shop",
  kind: "Deployment",
  name,
  service: name,
  pods: [],
  ...more,
});

interface Heard {
  readonly resource: SpanResource;
  readonly delaySeconds?: number;
  readonly adjustedCount?: number;
  readonly count?: number;
}

function heardOf(all: readonly Heard[], address = "10.0.0.9"): HeardTraffic {
  const heard = new HeardTraffic();
  for (const { adjustedCount, count = 40, delaySeconds = 1, resource } of all) {
    const batch = new SpanBatch();
    batch.clear(NOW_MS);
    for (let index = 0; index < count; index += 1) {
      batch.add({
        traceId: "1".repeat(32),
        spanId: "2".repeat(16),
        resource,
        kind: SPAN_KIND.server,
        startMs: NOW_MS - 1e3 * delaySeconds - 20,
        durationMs: 20,
        adjustedCount,
      });
    }
    heard.addSpans(batch, address, NOW_MS);
  }
  return heard;
}

const EXPECTED: Expected = {
  namespace: "shop",
  entry: "web",
  workloads: undefined,
  graceSeconds: 5,
  seconds: 60,
  endpoints: ["http://127.0.0.1:4318"],
};

describe("proposeMapping", () => {
  it.each([
    { service: "frontend.shop", name: "frontend" },
    { service: "Frontend", name: "frontend" },
    { service: "shop/frontend", name: "frontend" },
    { service: "cart-service", name: "cart" },
    { service: "CartService", name: "cart" },
    { service: "checkout", name: "checkout-svc" },
    { service: "frontend.shop.svc.cluster.local", name: "frontend" },
  ])("takes '$service' for $name by its name", ({ name, service }) => {
    const found = proposeMapping(service, [], [workload(name), workload("other")]);
    expect([found?.workload.name, found?.evidence]).toEqual([name, "name"]);
  });

  it("takes a service for the workload whose pods its spans name, the longest name first", () => {
    const workloads = [workload("shop"), workload("shop-cart"), workload("mysql")];
    const found = proposeMapping("mysql", ["shop-cart-7d9f8-x2x4z"], workloads);
    expect([found?.workload.name, found?.evidence]).toEqual(["shop-cart", "pod"]);
  });

  it("goes by known pods where there are some", () => {
    const workloads = [workload("a", { pods: ["p-1"] }), workload("b", { pods: ["p-2"] })];
    expect(proposeMapping("x", ["p-2"], workloads)?.workload.name).toBe("b");
    expect(proposeMapping("x", ["a-77"], workloads)).toBeUndefined();
  });

  it("proposes nothing where two are named alike, or none is", () => {
    expect(proposeMapping("cart", [], [workload("cart-svc"), workload("cart-app")])).toBeUndefined();
    expect(proposeMapping("payment", [], [workload("cart")])).toBeUndefined();
  });
});

describe("what the doctor heard", () => {
  const messages = (heard: HeardTraffic, expected: Partial<Expected> = {}) =>
    heardFindings(heard, { ...EXPECTED, ...expected }).map(
      ({ level, message, remedy = "", subject }) => `${level} ${subject}: ${message}; ${remedy}`,
    );

  it("names senders with what they sent", () => {
    expect(
      messages(heardOf([{ resource: { service: "web" } }, { resource: { service: "cart" } }])),
    ).toContain("ok sender 10.0.0.9: 80 spans and 0 histograms of durations, of 2 services (web, cart); ");
  });

  it("is a problem where it was nothing", () => {
    expect(messages(new HeardTraffic())).toEqual([
      "problem senders: nothing came within 60 s; send OTLP or Zipkin to http://127.0.0.1:4318, and listen while there is traffic",
    ]);
  });

  it("names the flag that heals spans which come later than they are waited for", () => {
    const late = heardOf([
      { resource: { service: "offers" }, delaySeconds: 9.6 },
      { resource: { service: "web" } },
    ]);
    const all = messages(late);
    expect(all.find((text) => text.startsWith("warning service offers"))).toMatch(
      /99 % of its spans come within 9\.[5-7] s of their end, 5 s are waited; --grace 11s on the predictor/,
    );
    expect(all.some((text) => text.startsWith("warning service web"))).toBe(false);
  });

  it("warns of a clock that is ahead", () => {
    expect(messages(heardOf([{ resource: { service: "web" }, delaySeconds: -4 }])).join("\n")).toContain(
      "warning service web: its clock is ahead of this machine's by 4.0 s or more; run NTP on its nodes",
    );
  });

  it("says how spans were sampled, and warns where only some of a service say so", () => {
    const [all, some] = [
      heardOf([{ resource: { service: "web" }, adjustedCount: 10 }]),
      heardOf([{ resource: { service: "web" }, adjustedCount: 10 }, { resource: { service: "web" } }]),
    ];
    expect(messages(all)).toContain(
      "ok service web: 100 % of its spans say how they were sampled: each stands for 10.0 requests; ",
    );
    expect(messages(some).join("\n")).toContain(
      "warning service web: 50 % of its spans say how they were sampled: each stands for 10.0 requests; the others count for one",
    );
  });

  it("proposes the mapping of names without a workload, and names workloads of which nothing came", () => {
    const heard = heardOf([
      { resource: { service: "mysql", instance: "customer-5f7-abc" } },
      { resource: { service: "web" } },
    ]);
    const all = messages(heard, { workloads: [workload("customer"), workload("web"), workload("route")] });
    expect(all).toContain(
      "warning service mysql: no workload has its name: it is planned by nobody; its spans come from pods of customer; write into the application: services: [{ name: mysql, workload: { kind: Deployment, name: customer } }]",
    );
    expect(all.find((text) => text.startsWith("warning workloads"))).toContain("1 workload (route)");
    expect(all).toContain(
      "ok families: spans tell of 1 of 3 services, pushed histograms of durations of 0; ",
    );
  });

  it("warns of spans of another namespace, and of spans that name no service", () => {
    const heard = heardOf([
      { resource: { service: "web", namespace: "staging" } },
      { resource: { service: "", instance: "p-1" }, count: 3 },
    ]);
    const all = messages(heard).join("\n");
    expect(all).toContain(
      "warning service web: its spans name the namespace staging, the application is in shop",
    );
    expect(all).toContain("problem names: 3 spans name no service, from 1 instance (p-1)");
  });
});

describe("the Collector's configuration that the doctor writes", () => {
  it("sends spans and the metrics that are used, and asks for pods where spans do not name them", () => {
    const heard = heardOf([{ resource: { service: "web" } }]);
    const config = parse(collectorConfig(heard, { endpoint: "otlp.tw:4317", namespace: "shop" })) as {
      processors: Record<string, unknown>;
      exporters: unknown;
      service: { pipelines: Record<string, { processors: string[] }> };
    };
    expect(config.exporters).toEqual({
      "otlp/tradewind": { endpoint: "otlp.tw:4317", tls: { insecure: true } },
    });
    expect(config.service.pipelines["traces/tradewind"]!.processors).toEqual([
      "k8sattributes/tradewind",
      "filter/tradewind",
      "batch/tradewind",
    ]);
    expect(JSON.stringify(config.processors["filter/tradewind"])).toContain("shop");
  });

  it("asks for no pods where all spans name theirs", () => {
    const heard = heardOf([{ resource: { service: "web", instance: "web-1", namespace: "shop" } }]);
    expect(collectorConfig(heard, { endpoint: "x:1", namespace: undefined })).not.toContain("k8sattributes");
  });
});

describe("doctor --listen", () => {
  it("hears spans, metrics, logs and refused requests over the ports that it opens", async () => {
    const options = DoctorOptions.parse({
      listenSeconds: 1,
      otlpListen: "127.0.0.1:0",
      otlpGrpcListen: "127.0.0.1:0",
    });
    const sent: Promise<Response>[] = [];
    const heard = await listen(options, {
      application: undefined,
      workloads: undefined,
      onListening: ([http = ""]) => {
        const post = (path: string, body: Uint8Array | string): void => {
          const headers = { "content-type": "application/x-protobuf" };
          sent.push(fetch(`${http}${path}`, { method: "POST", body, headers }));
        };
        post("/v1/traces", protobufRequest([aSpan(), aSpan()]));
        post("/v1/logs", "anything");
        post("/v1/traces", "nothing");
        const explicit = { bounds: [1], counts: [1, 0] };
        const points = [{ startMs: NOW_MS, endMs: NOW_MS + 1, count: 1, sum: 0.5, explicit }];
        const metric = { name: "http.server.request.duration", temporality: "delta", points } as const;
        post("/v1/metrics", metricsProtobuf([metric], { "service.name": "cart" }));
      },
    });
    expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([200, 200, 400, 200]);
    const texts = heard.findings.map(({ message, subject }) => `${subject}: ${message}`);
    expect(texts).toContain(
      "sender 127.0.0.1: 2 spans and 1 histograms of durations, of 2 services (frontend, cart)",
    );
    expect(texts).toContain("requests: 1 requests were refused: malformed");
    expect(texts).toContain("logs: 8 bytes of logs came: they are taken and discarded");
    expect(heard.collector).toMatch(/endpoint: 127\.0\.0\.1:\d+/);
  });

  it("says what to do when a predictor has the ports", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const options = DoctorOptions.parse({ listenSeconds: 1, otlpListen: `127.0.0.1:${port}` });
    const parts = { application: undefined, workloads: undefined, onListening: () => undefined };
    const { collector, findings } = await listen(options, parts);
    taken.close();
    expect(findings).toMatchObject([{ level: "problem", subject: "listen" }]);
    expect(findings[0]!.remedy).toContain("--otlp-listen");
    expect(collector).toBe("");
  });
});
