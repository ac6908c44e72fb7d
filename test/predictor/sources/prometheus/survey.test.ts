import { describe, expect, it } from "vitest";
import { exponential, seededRng } from "@tradewind/core/values/rng.ts";
import type { OwnedCounter } from "@tradewind/predictor/sources/prometheus/copies.ts";
import { NOTHING_FOUND, surveyOf } from "@tradewind/predictor/sources/prometheus/survey.ts";
import type { Survey } from "@tradewind/predictor/sources/prometheus/survey.ts";

const INTERVAL_MS = 15_000;
const SPAN_MS = 300_000;
const REQUESTS = { identifying: ["service_name"] };

type Count = (atMs: number) => number;

/** A process that has served some requests before, and then some at random times. */
function process(seed: number, perSecond: number): Count {
  const rng = seededRng(seed);
  const timesMs: number[] = [];
  for (let at = 0; at < SPAN_MS + 60_000; at += exponential(rng, 1_000 / perSecond)) timesMs.push(at);
  return (atMs) => 1_000 + 77 * seed + timesMs.filter((timeMs) => timeMs <= atMs).length;
}

/** A counter of `service`, read every 15 s from `offsetMs` on. */
function counter(
  service: string,
  labels: Record<string, string>,
  count: Count,
  offsetMs = 0,
  toMs = SPAN_MS,
): OwnedCounter {
  const times: number[] = [];
  for (let at = offsetMs; at <= toMs; at += INTERVAL_MS) times.push(at);
  return {
    service,
    labels: { service_name: service, ...labels },
    samples: {
      timesMs: Float64Array.from(times),
      values: Float64Array.from(times, count),
      dropped: 0,
      clashes: 0,
    },
  };
}

const look = (counters: readonly OwnedCounter[], settled: string[] = [], before = NOTHING_FOUND): Survey =>
  surveyOf(counters, REQUESTS, before, settled);
const copyLabels = (counters: readonly OwnedCounter[], before = NOTHING_FOUND): string[] =>
  look(counters, [], before).copies.map(({ label }) => label);

/** Two services, each series stored once for each set of labels, with what reads it a little later. */
function stored(...writers: Record<string, string>[]): OwnedCounter[] {
  return ["front", "cart"].flatMap((service, index) => {
    const count = process(index + 1, 8);
    return writers.map((labels, at) => counter(service, labels, count, 3_700 * at));
  });
}

describe("copies of series", () => {
  it.each([
    ["prometheus_replica", { prometheus_replica: "prometheus-0" }, { prometheus_replica: "prometheus-1" }],
    ["__replica__", { __replica__: "a" }, { __replica__: "b" }],
    ["written_by", { written_by: "north" }, { written_by: "south" }],
    ["job", { job: "mesh", pod: "p" }, { job: "pods", pod: "p" }],
    ["vmagent", { vmagent: "1" }, {}],
  ])("are found by %s", (label, first, second) => {
    expect(copyLabels(stored(first, second))).toEqual([label]);
  });

  it("are found by two labels whose values go together, and by three writers", () => {
    const writers = ["a", "b", "c"].map((name) => ({ replica: name, written_from: `host-${name}` }));
    expect(copyLabels(stored(...writers)).sort()).toEqual(["replica", "written_from"]);
  });

  it("are found where requests come in bursts", () => {
    const bursts: Count = (atMs) => 100 * Math.floor((atMs + 9_000) / 20_000);
    const counters = ["a", "b"].map((written_by, at) => counter("front", { written_by }, bursts, 6_000 * at));
    expect(copyLabels(counters)).toEqual(["written_by"]);
  });

  it("are found of collectors that each count the same spans since their own start", () => {
    const counters = ["front", "cart"].flatMap((service, index) => {
      const count = process(index + 1, 8);
      return [
        counter(service, { collector: "a" }, count),
        counter(service, { collector: "b" }, (atMs) => count(atMs) - 700, 6_000),
      ];
    });
    expect(copyLabels(counters)).toEqual(["collector"]);
  });

  it("are found where one service alone has them", () => {
    const [front, cart] = [process(1, 8), process(2, 8)];
    const counters = [
      counter("front", { replica: "a" }, front),
      counter("cart", { replica: "a" }, cart),
      counter("cart", { replica: "b" }, cart, 5_000),
    ];
    expect(copyLabels(counters)).toEqual(["replica"]);
  });

  it("are found where one of the two has been away and where a process restarted", () => {
    const restarted =
      (count: Count): Count =>
      (atMs) =>
        atMs > 150_000 ? count(atMs) - count(150_000) : count(atMs);
    const count = restarted(process(1, 8));
    const counters = [
      counter("front", { replica: "a" }, count),
      counter("front", { replica: "b" }, count, 4_000, 200_000),
    ];
    expect(copyLabels(counters)).toEqual(["replica"]);
  });

  it.each([
    ["pods", { pod: "front-1" }, { pod: "front-2" }],
    ["instances", { instance: "10.0.0.1:80" }, { instance: "10.0.0.2:80" }],
    ["callers", { source_workload: "api" }, { source_workload: "web" }],
    ["routes", { span_name: "GET /a" }, { span_name: "GET /b" }],
    ["versions", { destination_version: "v1" }, { destination_version: "v2" }],
    ["zones", { topology_kubernetes_io_zone: "a" }, { topology_kubernetes_io_zone: "b" }],
  ])("are not two %s with the very same traffic", (_what, first, second) => {
    expect(copyLabels(stored(first, second))).toEqual([]);
  });

  it.each(["customer", "collector", "replica"])(
    "are not two of a %s with like traffic of their own",
    (label) => {
      const counters = [1, 2].flatMap((value) =>
        ["front", "cart"].map((service, index) =>
          counter(service, { [label]: String(value) }, process(10 * value + index, 8)),
        ),
      );
      expect(copyLabels(counters)).toEqual([]);
    },
  );

  it("stay found while there are too few requests to tell", () => {
    const idle: Count = () => 1_000;
    const counters = ["a", "b"].map((replica) => counter("front", { replica }, idle));
    expect(copyLabels(counters)).toEqual([]);
    const found = look(stored({ replica: "a" }, { replica: "b" }));
    expect(copyLabels(counters, found)).toEqual(["replica"]);
  });
});

describe("clusters and environments in one store", () => {
  const both = (label: string): OwnedCounter[] =>
    ["eu", "us"].flatMap((value, index) => [
      counter("front", { [label]: value }, process(index + 1, 8)),
      counter("cart", { [label]: value }, process(index + 5, 8)),
    ]);

  it.each(["cluster", "k8s_cluster_name", "destination_cluster", "env", "deployment_environment", "region"])(
    "are found by %s",
    (label) => {
      expect(look(both(label)).places).toEqual([{ label, values: ["eu", "us"] }]);
      expect(look(both(label)).copies).toEqual([]);
    },
  );

  it("are found where both have the very same traffic", () => {
    const counters = ["eu", "us"].map((cluster) => counter("front", { cluster }, process(1, 8)));
    expect(look(counters)).toMatchObject({ copies: [], places: [{ label: "cluster" }] });
  });

  it("are nothing to speak of where the source has a condition on the label, or each service is in one", () => {
    expect(look(both("cluster"), ["cluster"]).places).toEqual([]);
    const apart = [
      counter("front", { cluster: "eu" }, process(1, 8)),
      counter("cart", { cluster: "us" }, process(2, 8)),
    ];
    expect(look(apart).places).toEqual([]);
  });

  it("are not told by where callers are", () => {
    const counters = ["eu", "us"].map((from, index) =>
      counter("front", { source_cluster: from }, process(index + 1, 8)),
    );
    expect(look(counters).places).toEqual([]);
  });
});

describe("a counter that several processes write", () => {
  const sampled = (values: readonly number[], clashes = 0): OwnedCounter => ({
    service: "front",
    labels: { service_name: "front" },
    samples: {
      timesMs: Float64Array.from(values, (_, index) => 5_000 * index),
      values: Float64Array.from(values),
      dropped: 2 * clashes,
      clashes,
    },
  });
  const twenty = Array.from({ length: 20 }, (_, index) => index);

  it.each([2, 3, 6])("is found where there are %i of them", (writers) => {
    const values = twenty.map((index) => 2_000 * (index % writers) + 50 * Math.floor(index / writers));
    expect([...look([sampled(values)]).mixed]).toEqual(["front"]);
  });

  it("is found where all write at the same times", () => {
    expect([...look([sampled([1, 2, 3], 17)]).mixed]).toEqual(["front"]);
  });

  it("is none that began again twice, or that has a sample out of order", () => {
    const restarted = twenty.map((index) => 50 * (index % 8));
    expect(look([sampled(restarted)]).mixed.size).toBe(0);
    const swapped = twenty.map((index) => (index === 10 ? 450 : 50 * index));
    expect(look([sampled(swapped)]).mixed.size).toBe(0);
  });
});

describe("the time between two samples", () => {
  it("is that of most series", () => {
    expect(look(stored({ job: "a" })).intervalMs).toBe(INTERVAL_MS);
  });

  it("is not known of single samples, and stays what it was", () => {
    const single = [counter("front", {}, () => 1, 0, 0)];
    expect(look(single).intervalMs).toBeUndefined();
    expect(look(single, [], { ...NOTHING_FOUND, intervalMs: 60_000 }).intervalMs).toBe(60_000);
  });
});
