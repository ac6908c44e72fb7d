import { describe, expect, it } from "vitest";
import { ownersByName } from "@tradewind/predictor/sources/prometheus/pods.ts";
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

describe("resourceView without kube-state-metrics", () => {
  const used = (pod: string, container: string, cores: number) => ({
    labels: { namespace: "shop", pod, container },
    perSecond: Float64Array.of(cores),
  });
  const cpuUsage = [
    used("cart-7c9d8f6b5-x2x4v", "cart", 0.5),
    used("cart-7c9d8f6b5-k8k8k", "cart", 0.25),
    used("node-exporter-x2x4v", "node-exporter", 0.1),
    used("db-0", "db", 0.1),
  ];
  const columns = new Map([["cpuUsage", cpuUsage]]);

  it("has the Deployments that the names of running pods tell of, with as many replicas as run", () => {
    const owners = ownersByName(cpuUsage, new Set());
    const { services } = resourceView({ columns, nodes: new Map(), owners, leftOut: 0 }, 0, "shop");
    expect([...services.keys()]).toEqual(["cart"]);
    expect(services.get("cart")).toMatchObject({
      replicasWanted: 2,
      replicasReady: 2,
      containers: [{ cpuUsageCores: 0.5 }, { cpuUsageCores: 0.25 }],
    });
  });

  it("guesses nothing where kube-state-metrics tells of the namespace", () => {
    expect(ownersByName(cpuUsage, new Set(["shop"])).size).toBe(0);
  });
});
