import type { Window } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import { mappingInWords, unmappedNames } from "../../../../predictor/decide/facts/unmapped.ts";

const window = (service: string, callees: readonly string[], more: Partial<Window> = {}): Window => ({
  namespace: "shop",
  service,
  startMs: 0,
  endMs: 15_000,
  requestsPerSecond: 4,
  callees: callees.map((callee) => ({ callee, callsPerSecond: 4, parallelRatio: 0 })),
  containers: [],
  ...more,
});
const running = { replicasReady: 2 };

describe("names in spans that no workload has", () => {
  it("are those that a workload's service calls, with the only caller proposed", () => {
    expect(
      unmappedNames([
        window("browser", ["front"]),
        window("front", ["stock"], running),
        window("stock", ["stock-lock"], running),
        window("stock-lock", []),
      ]),
    ).toEqual([{ service: "stock-lock", proposed: "stock" }]);
  });

  it("propose a workload without requests that is called alike before a caller", () => {
    const silent = window("billing", [], { ...running, requestsPerSecond: undefined });
    expect(
      unmappedNames([window("front", ["billing-v2"], running), window("billing-v2", []), silent]),
    ).toEqual([{ service: "billing-v2", proposed: "billing" }]);
  });

  it("are entries of which no workload has the name, where it is known what runs", () => {
    const windows = [window("shop-front", ["cart"]), window("cart", [], running)];
    expect(unmappedNames(windows, ["shop-front"])).toEqual([{ service: "shop-front" }]);
    expect(unmappedNames([window("shop-front", [])], ["shop-front"])).toEqual([]);
  });

  it("are told with the mapping to write", () => {
    expect(mappingInWords({ service: "mysql", proposed: "customer" })).toBe(
      "requests lead to 'mysql', which no workload is called: nothing can be scaled for its time; map it to the workload whose process it is: services: [{ name: mysql, workload: { kind: Deployment, name: customer } }]",
    );
  });

  it("propose nothing where several call it", () => {
    expect(
      unmappedNames([window("a", ["cache"], running), window("b", ["cache"], running), window("cache", [])]),
    ).toEqual([{ service: "cache" }]);
  });
});
