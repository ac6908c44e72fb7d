import { expect, it } from "vitest";
import type { Workload, WorkloadList } from "@tradewind/core/contract/workload.ts";
import { disruptionsOf } from "@tradewind/predictor/nodes/disruptions.ts";

const workload = (name: string, service: string, allowed?: number, namespace = "shop"): Workload => ({
  namespace,
  kind: "Deployment",
  name,
  service,
  replicasWanted: 2,
  replicasReady: 2,
  pods: [],
  ...(allowed !== undefined && { disruptions: { budget: name, allowed } }),
});
const list: WorkloadList = {
  schema: "tradewind.dev/workloads/v1",
  observedAtMs: 0,
  workloads: [
    workload("search", "search", 3),
    workload("search-canary", "search", 1),
    workload("geo", "geo"),
    workload("search", "search", 0, "bank"),
  ],
};

it("gives of each service of the namespace the tightest budget of its workloads", () => {
  expect(disruptionsOf(list, "shop")).toEqual([{ service: "search", budget: "search-canary", allowed: 1 }]);
  expect(disruptionsOf(undefined, "shop")).toEqual([]);
});
