import { expect, it } from "vitest";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { quotaRoom } from "@tradewind/predictor/nodes/quota-room.ts";

const container = { id: "c", name: "main", cpuRequestCores: 0.5, memoryRequestBytes: 256e6 };
const pod = (
  revision: string,
  cpuRequestCores: number,
): WorkloadList["workloads"][number]["pods"][number] => ({
  uid: revision,
  name: revision,
  node: "n",
  ready: true,
  revision,
  containers: [
    { ...container, cpuRequestCores },
    { ...container, id: "s", name: "proxy", sidecar: true, cpuRequestCores: 0.1 },
  ],
});
const list: WorkloadList = {
  schema: "tradewind.dev/workloads/v1",
  observedAtMs: 0,
  workloads: [
    {
      namespace: "shop",
      kind: "Deployment",
      name: "search",
      service: "search",
      replicasWanted: 2,
      replicasReady: 2,
      revision: "new",
      pods: [pod("old", 9), pod("new", 0.5)],
    },
  ],
  quotas: [
    { namespace: "shop", name: "team", hard: { pods: 10, cpuRequestCores: 4 }, used: { pods: 12 } },
    { namespace: "bank", name: "other", hard: { pods: 1 }, used: { pods: 1 } },
  ],
};

it("says what the quotas of a namespace leave, as far as their use is known, and what the newest pod of each service takes", () => {
  expect(quotaRoom(list, "shop")).toEqual({
    quotas: [{ name: "team", left: { pods: 0 } }],
    pods: [{ service: "search", takes: { pods: 1, cpuRequestCores: 0.6, memoryRequestBytes: 512e6 } }],
  });
});

it("says nothing without a quota", () => {
  expect(quotaRoom({ ...list, quotas: [] }, "shop")).toBeUndefined();
  expect(quotaRoom(undefined, "shop")).toBeUndefined();
});
