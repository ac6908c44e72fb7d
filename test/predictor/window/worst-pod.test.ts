import { describe, expect, it } from "vitest";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import type { ContainerWindow } from "@tradewind/core/contract/window.ts";
import { ARRIVAL_MS, batchOf, buildFirst, newBuilder, serviceIn, traceOf } from "./traced.ts";

/** Requests of one pod that take `ms` each. */
const requests = (instance: string | undefined, count: number, ms: number): SpanRecord[] =>
  Array.from({ length: count }, () =>
    traceOf({ service: "cart", kind: "server", at: 10, for: ms }).map((span) => ({
      ...span,
      resource: { service: "cart", instance },
    })),
  ).flat();

const cartOf = (spans: SpanRecord[]) => {
  const builder = newBuilder();
  builder.add(batchOf(spans), ARRIVAL_MS);
  return { window: serviceIn(buildFirst(builder), "cart"), drops: builder.totals().drops };
};

describe("own latency of the worst pod", () => {
  it("is that of the pod with the largest own p95 among those with 20 calls", () => {
    const { window } = cartOf([
      ...requests("cart-a", 50, 10),
      ...requests("cart-b", 20, 40),
      ...requests("cart-c", 19, 900),
      ...requests(undefined, 30, 500),
    ]);
    expect(window.worstPodOwnLatency?.podName).toBe("cart-b");
    expect(window.worstPodOwnLatency?.latency).toMatchObject({ count: 20, meanSeconds: 0.04 });
    expect(window.worstPodOwnLatency?.latency.p95Seconds).toBeCloseTo(0.04, 3);
    expect(window.ownLatency?.count).toBe(119);
  });

  it("is absent where spans do not name their pods, or no pod had 20 calls", () => {
    const { window } = cartOf([...requests(undefined, 50, 10), ...requests("cart-a", 19, 10)]);
    expect(window).not.toHaveProperty("worstPodOwnLatency");
  });

  it("tells 200 pods of a service apart and counts the calls of further ones, whose service still counts", () => {
    const spans = Array.from({ length: 205 }, (_, pod) => requests(`cart-${pod}`, 2, 10)).flat();
    const { window, drops } = cartOf(spans);
    expect(drops).toEqual({ "pod-limit": 10 });
    expect(window.ownLatency?.count).toBe(410);
  });
});

describe("calls of each pod", () => {
  const counts = (classes: readonly (string | undefined)[]) => {
    const builder = newBuilder();
    builder.add(batchOf([...requests("cart-0", 30, 10), ...requests("cart-1", 12, 10)]), ARRIVAL_MS);
    const containers = classes.map((nodeClass, pod): ContainerWindow => {
      const container = { id: `id-${pod}`, podName: `cart-${pod}` };
      return nodeClass === undefined ? container : { ...container, nodeClass };
    });
    const services = new Map([["cart", { namespace: "shop", containers }]]);
    return serviceIn(buildFirst(builder, { services }), "cart").containers.map(({ calls }) => calls);
  };

  it("are counted where its pods run on nodes of different classes", () => {
    expect(counts(["old", "new"])).toEqual([30, 12]);
  });

  it("are left out where nodes are alike, and of a pod that no span names", () => {
    expect(counts(["new", "new"])).toEqual([undefined, undefined]);
    expect(counts([undefined, undefined])).toEqual([undefined, undefined]);
    expect(counts(["old", "new", "new"])).toEqual([30, 12, undefined]);
  });
});
