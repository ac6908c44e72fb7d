import { describe, expect, it } from "vitest";
import { resourceView } from "@tradewind/predictor/sources/prometheus/resources.ts";

describe("resourceView of a server that knows several namespaces", () => {
  const wanted = (namespace: string, deployment: string, replicas: number) => ({
    labels: { namespace, deployment },
    perSecond: Float64Array.of(replicas),
  });

  it("has the workloads of the application's own only, whatever others are called", () => {
    const deploymentWanted = [wanted("shop", "cart", 4), wanted("dev", "cart", 1), wanted("dev", "stock", 1)];
    const reading = {
      columns: new Map([["deploymentWanted", deploymentWanted]]),
      nodes: new Map(),
      owners: new Map(),
      leftOut: 0,
    };
    expect([...resourceView(reading, 0, "shop").services]).toEqual([
      ["cart", { namespace: "shop", replicasWanted: 4, containers: [] }],
    ]);
  });
});
