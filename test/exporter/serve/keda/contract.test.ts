import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { answering } from "../../fake-predictor.ts";
import { runningExporter } from "../../running-exporter.ts";
import type { TestExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";
import { encodeMetricsRequest, encodeRef, lengthDelimited } from "./wire.ts";
import type { Ref } from "./wire.ts";
import { failure } from "./wire-client.ts";

const SPEC = [{ metricName: "recommended-replicas", int: 1, float: 1 }];
const METRIC = "recommended-replicas";

const refOf = (service: string, namespace = "shop"): Ref => ({
  name: "search-scaler",
  namespace,
  metadata: { scalerAddress: "tradewind.tradewind:9813", service },
});

/** Every answer that must never be a number for this service. */
async function expectUnavailable({ client }: TestExporter, ref: Ref, saying: RegExp): Promise<void> {
  const metrics = await failure(client.metrics(ref, METRIC));
  expect(metrics).toEqual({ code: status.UNAVAILABLE, details: expect.stringMatching(saying) as string });
  expect((await failure(client.isActive(ref))).code).toBe(status.UNAVAILABLE);
  expect(await client.metricSpec(ref)).toEqual(SPEC);
}

describe("the external scaler, asked by a client made from the contract alone,", () => {
  it("answers spec, metric and activity with the replica count itself, in both number fields", async () => {
    const { client } = await runningExporter(planOf([wishOf()]));
    expect(await client.metricSpec(refOf("search"))).toEqual(SPEC);
    expect(await client.metrics(refOf("search"), METRIC)).toEqual([{ metricName: METRIC, int: 5, float: 5 }]);
    expect(await client.isActive(refOf("search"))).toBe(true);
  });

  it.each([
    "recommended-replicas",
    "s0-recommended-replicas",
    "s1-s0-recommended-replicas",
    "",
    "composite-metric",
    "ünïcode/%2F name",
  ])("answers whatever the metric was called: '%s'", async (name) => {
    const { client } = await runningExporter(planOf([wishOf()]));
    const [metric, ...more] = await client.metrics(refOf("search"), name);
    expect(metric).toMatchObject({ int: 5, float: 5 });
    expect(more).toEqual([]);
  });

  it.each([["Search Service"], ["検索"], ["__proto__"], ["constructor"], ["toString"], ["a/b?c=d#e"], ["-"]])(
    "serves a service named '%s'",
    async (service) => {
      const { client } = await runningExporter(planOf([wishOf({ service })]));
      expect(await client.metrics(refOf(service), METRIC)).toMatchObject([{ int: 5 }]);
    },
  );

  it("takes the service from 'serviceFromEnv' as KEDA resolves it, and checks 'application' when it is given", async () => {
    const { client } = await runningExporter(planOf([wishOf()]));
    const asking = (metadata: Record<string, string>): Ref => ({ name: "s", namespace: "shop", metadata });
    expect(await client.metrics(asking({ serviceFromEnv: "search" }), METRIC)).toMatchObject([{ int: 5 }]);
    const same = asking({ service: "search", application: "hotel" });
    expect(await client.metrics(same, METRIC)).toMatchObject([{ int: 5 }]);
    const other = await failure(client.metrics(asking({ service: "search", application: "bank" }), METRIC));
    expect(other.code).toBe(status.UNAVAILABLE);
    expect(other.details).toMatch(/belongs to application 'hotel', not 'bank'/);
  });

  it("never shows the services of another namespace", async () => {
    const exporter = await runningExporter(planOf([wishOf()]));
    await expectUnavailable(exporter, refOf("search", "other-tenant"), /no decision for service 'search'/);
    const pretending: Ref = { ...refOf("search", "other-tenant") };
    const smuggled = { ...pretending, metadata: { service: "search", namespace: "shop" } };
    await expectUnavailable(exporter, smuggled, /in namespace 'other-tenant'/);
  });

  it("answers UNAVAILABLE for a service it does not know, and still gives the spec", async () => {
    const exporter = await runningExporter(planOf([wishOf()]));
    await expectUnavailable(exporter, refOf("nobody"), /check 'service' against service.name/);
  });

  it("answers UNAVAILABLE before the first plan, and still gives the spec", async () => {
    const exporter = await runningExporter(undefined);
    await expectUnavailable(exporter, refOf("search"), /no plan from http|answered 503/);
  });

  it("answers UNAVAILABLE once the predictor's last word is stale, never the old number", async () => {
    const wish = wishOf();
    const plan = planOf([wish], { plannedAtMs: Date.now() });
    plan.wishes[0]!.inputs.windowEndMs = Date.now() - 9_000;
    const exporter = await runningExporter(plan, { staleAfter: 10 });
    await exporter.listWhen("the decision to expire", ({ recommendations }) => !recommendations[0]!.valid);
    await expectUnavailable(exporter, refOf("search"), /was valid for 1 s/);
  });

  it.each<[string, (plan: string) => string]>([
    ["a bare NaN", (plan) => plan.replace('"replicas":5', '"replicas":NaN')],
    ["null, which NaN becomes in JSON", (plan) => plan.replace('"replicas":5', '"replicas":null')],
    ["a number beyond doubles", (plan) => plan.replace('"replicas":5', '"replicas":1e999')],
    ["a negative number", (plan) => plan.replace('"replicas":5', '"replicas":-5')],
    ["a text", (plan) => plan.replace('"replicas":5', '"replicas":"5"')],
  ])("answers UNAVAILABLE when the predictor's replicas are %s", async (_what, spoil) => {
    const exporter = await runningExporter(undefined);
    exporter.predictor.behave(answering(spoil(JSON.stringify(planOf([wishOf()])))));
    const seen = exporter.predictor.requests();
    await exporter.listWhen("two more polls", () => exporter.predictor.requests() >= seen + 2);
    await expectUnavailable(exporter, refOf("search"), /.+/);
  });

  it("serves the other services of a plan in which one wish is broken", async () => {
    const plan = JSON.stringify(planOf([wishOf(), wishOf({ service: "rate" })] satisfies Plan["wishes"]));
    const exporter = await runningExporter(undefined);
    exporter.predictor.behave(answering(plan.replace('"replicas":5', '"replicas":null')));
    await exporter.listWhen("the good decision", ({ recommendations }) => recommendations.length === 1);
    expect(await exporter.client.metrics(refOf("rate"), METRIC)).toMatchObject([{ int: 5 }]);
    await expectUnavailable(
      exporter,
      refOf("search"),
      /contract: the proposal cannot be read: allocation.replicas/,
    );
    expect(await exporter.metrics()).toMatch(/tradewind_plan_wishes_rejected_total 1/);
  });
});

describe("scale to zero", () => {
  const idle = (complete: boolean) =>
    wishOf({
      allocation: { replicas: 0 },
      observed: { replicasReady: 2, replicasWanted: 2, complete },
      bounds: { ...wishOf().bounds, minReplicas: 0 },
    });

  it("says inactive, and a metric of 0, only on a fresh and complete decision for zero", async () => {
    const { client } = await runningExporter(planOf([idle(true)]));
    expect(await client.isActive(refOf("search"))).toBe(false);
    expect(await client.metrics(refOf("search"), METRIC)).toEqual([{ metricName: METRIC, int: 0, float: 0 }]);
  });

  it("stays active while data is missing or the exporter has just started", async () => {
    const incomplete = await runningExporter(planOf([idle(false)]));
    expect(await incomplete.client.isActive(refOf("search"))).toBe(true);
    const started = await runningExporter(planOf([idle(true)]), { restartGrace: "10m" });
    expect(await started.client.isActive(refOf("search"))).toBe(true);
    expect(await started.client.metrics(refOf("search"), METRIC)).toMatchObject([{ int: 2 }]);
  });
});

describe("hostile requests", () => {
  const megabyte = "x".repeat(2 ** 20);
  const oddRefs: readonly (readonly [string, Ref, RegExp])[] = [
    ["no metadata", { name: "s", namespace: "shop" }, /lacks 'service'/],
    ["no namespace", { name: "s", metadata: { service: "search" } }, /names no namespace/],
    ["an empty service", refOf("  "), /lacks 'service'/],
    ["a service of 1 MB", refOf(megabyte), /metadata key 'service' holds 1048576 bytes/],
    ["a namespace of 1 MB", { ...refOf("search"), namespace: megabyte }, /namespace holds 1048576 bytes/],
    [
      "10,000 metadata entries",
      { ...refOf("search"), metadata: Array.from({ length: 10_000 }, (_, i) => [`k${i}`, "v"] as const) },
      /more than 256 entries/,
    ],
    [
      "only foreign keys",
      { name: "s", namespace: "shop", metadata: { __proto__x: "search" } },
      /lacks 'service'/,
    ],
  ];

  it.each(oddRefs)(
    "with %s get INVALID_ARGUMENT and what to do, and still the spec",
    async (_what, ref, saying) => {
      const { client } = await runningExporter(planOf([wishOf()]));
      const expected = { code: status.INVALID_ARGUMENT, details: expect.stringMatching(saying) as string };
      expect(await failure(client.metrics(ref, METRIC))).toEqual(expected);
      expect(await failure(client.isActive(ref))).toEqual(expected);
      expect(await client.metricSpec(ref)).toEqual(SPEC);
    },
  );

  it("are answered for a huge value under a key that means nothing to us", async () => {
    const { client } = await runningExporter(planOf([wishOf()]));
    const ref: Ref = { ...refOf("search"), metadata: { service: "search", note: megabyte } };
    expect(await client.metrics(ref, METRIC)).toMatchObject([{ int: 5 }]);
  });

  it.each([["__proto__"], ["constructor"], ["hasOwnProperty"], ["a\u0000b"], ["\u001b[31m"], ["a\nb"]])(
    "for service %j are UNAVAILABLE with a printable message",
    async (service) => {
      const exporter = await runningExporter(planOf([wishOf()]));
      const { code, details } = await failure(exporter.client.metrics(refOf(service), METRIC));
      expect(code).toBe(status.UNAVAILABLE);
      expect(details).toMatch(/^[^\p{Cc}]+$/u);
    },
  );

  it("with half a surrogate pair or broken UTF-8 do not bring the process down", async () => {
    const exporter = await runningExporter(planOf([wishOf()]));
    for (const bad of [Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0xff, 0xfe]), Buffer.from([0xc3])]) {
      const entry = Buffer.concat([lengthDelimited(1, "service"), lengthDelimited(2, bad)]);
      const ref = Buffer.concat([lengthDelimited(2, "shop"), lengthDelimited(3, entry)]);
      const request = Buffer.concat([lengthDelimited(1, ref), lengthDelimited(2, bad)]);
      expect((await failure(exporter.client.call("GetMetrics", request))).code).toBe(status.UNAVAILABLE);
    }
    expect(await exporter.client.metrics(refOf("search"), METRIC)).toMatchObject([{ int: 5 }]);
  });

  it("that are cut off or garbage get INVALID_ARGUMENT from GetMetrics and the spec from GetMetricSpec", async () => {
    const { client } = await runningExporter(planOf([wishOf()]));
    const whole = encodeMetricsRequest(refOf("search"), METRIC);
    const broken = [
      whole.subarray(0, whole.length - 3),
      whole.subarray(0, 9),
      Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
      Buffer.from([0x1a, 0x7f]),
      Buffer.alloc(64, 0xff),
    ];
    for (const request of broken) {
      expect((await failure(client.call("GetMetrics", request))).code).toBe(status.INVALID_ARGUMENT);
      await expect(client.call("GetMetricSpec", request)).resolves.toBeDefined();
    }
    await expect(client.call("GetMetricSpec", Buffer.alloc(0))).resolves.toBeDefined();
  });

  it("of 50 MB are refused without being read, and leave the next answer as it was", async () => {
    const { client } = await runningExporter(planOf([wishOf()]));
    const huge = encodeRef({
      ...refOf("search"),
      metadata: { service: "search", note: "x".repeat(50 * 2 ** 20) },
    });
    expect((await failure(client.call("IsActive", huge))).code).toBe(status.RESOURCE_EXHAUSTED);
    expect(await client.isActive(refOf("search"))).toBe(true);
  });

  it("for an RPC that is not in the contract are UNIMPLEMENTED", async () => {
    const { client } = await runningExporter(planOf([wishOf()]));
    expect((await failure(client.call("DropTables", Buffer.alloc(0)))).code).toBe(status.UNIMPLEMENTED);
  });
});
