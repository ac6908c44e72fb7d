import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { NodeCapacity, Workload, WorkloadList } from "@tradewind/core/contract/workload.ts";
import { cpuLeft, NodeRoom, nodesLeft, podsMore } from "@tradewind/predictor/nodes/node-room.ts";
import { describe, expect, it } from "vitest";

const PRICES = { cpuCoreHour: 0.03, memoryGigabyteHour: 0.004 };
const GB = 1e9;

const listOf = (nodes?: NodeCapacity[]): WorkloadList => ({
  schema: WORKLOADS_SCHEMA,
  observedAtMs: 0,
  workloads: [],
  ...(nodes && { nodes }),
});
const node = (name: string, cpuCores?: number, memoryBytes?: number, schedulable = true): NodeCapacity => ({
  name,
  schedulable,
  ...(cpuCores !== undefined && { cpuCores }),
  ...(memoryBytes !== undefined && { memoryBytes }),
});

describe("the room on the nodes", () => {
  it("is that of the one node worth most, never the CPU of one and the memory of another", () => {
    const list = listOf([node("a", 4, 16 * GB), node("cpu", 32, 64 * GB), node("memory", 8, 128 * GB)]);
    expect(new NodeRoom().largest(list, PRICES, 0)).toEqual({ cpuCores: 32, memoryBytes: 64 * GB });
  });

  it("leaves out nodes that take no pods, and those that are not fully known", () => {
    const list = listOf([node("drained", 64, 64 * GB, false), node("dark", 64), node("b", 2, 4 * GB)]);
    expect(new NodeRoom().largest(list, PRICES, 0)).toEqual({ cpuCores: 2, memoryBytes: 4 * GB });
    expect(new NodeRoom().largest(listOf([node("dark", 64)]), PRICES, 0)).toBeUndefined();
  });

  it("is what agents say where the workload source knows no nodes, as long as they are there", () => {
    const room = new NodeRoom();
    expect(room.largest(undefined, PRICES, 0)).toBeUndefined();
    room.seen("large", { cpuCores: 16, memoryBytes: 32 * GB }, 0);
    room.seen("small", { cpuCores: 2, memoryBytes: 4 * GB }, 300_000);
    expect(room.largest(listOf(), PRICES, 300_000)).toEqual({ cpuCores: 16, memoryBytes: 32 * GB });
    expect(room.largest(undefined, PRICES, 700_000)).toEqual({ cpuCores: 2, memoryBytes: 4 * GB });
    const list = listOf([node("b", 1, GB)]);
    expect(room.largest(list, PRICES, 700_000)).toEqual({ cpuCores: 1, memoryBytes: GB });
  });
});

/** A workload with pods of one core on these nodes. */
const workload = (service: string, nodes: readonly string[], namespace = "shop"): Workload => ({
  namespace,
  kind: "Deployment",
  name: service,
  service,
  replicasWanted: nodes.length,
  replicasReady: nodes.length,
  pods: nodes.map((each, at) => ({
    uid: `${service}-${at}`,
    name: `${service}-${at}`,
    node: each,
    ready: at > 0,
    containers: [{ id: `${service}-${at}`, name: service, cpuRequestCores: 1 }],
  })),
});

describe("pods more that nodes take of a service", () => {
  const placed = (service: string, nodes: readonly string[], namespace?: string): Workload => ({
    ...workload(service, nodes, namespace),
    placing: { requests: { cpu: 1 } },
  });
  const full = (workloads: Workload[]): WorkloadList => ({
    ...listOf([{ ...node("a", 16, GB), pods: 4, taken: { cpu: 4, pods: 4 } }]),
    workloads,
  });

  it("count slots that the namespace's other services have: those may give them up", () => {
    const list = full([placed("cart", ["a"]), placed("front", ["a", "a", "a"])]);
    expect(podsMore(list, "shop")).toEqual(
      new Map([
        ["cart", 3],
        ["front", 1],
      ]),
    );
  });

  it("are none where pods of other namespaces have the slots", () => {
    const list = full([placed("cart", ["a"]), placed("other", ["a", "a", "a"], "elsewhere")]);
    expect(podsMore(list, "shop")).toEqual(new Map([["cart", 0]]));
  });
});

describe("what pods leave of nodes", () => {
  const told = (of: WorkloadList | undefined) => nodesLeft(of, "shop", cpuLeft(of));
  const list: WorkloadList = {
    ...listOf([node("a", 4, GB), node("b", 2, GB, false), node("c", 1, GB), node("dark")]),
    workloads: [
      workload("cart", ["a", "a"]),
      workload("front", ["b"]),
      workload("other", ["a"], "elsewhere"),
    ],
  };

  it("is without the requests of all pods known, whether they serve or not, and tells of those of the namespace", () => {
    expect(told(list)).toEqual([
      { name: "a", leftCores: 1, takesPods: true, pods: [{ service: "cart", pods: 2 }] },
      { name: "b", leftCores: 1, takesPods: false, pods: [{ service: "front", pods: 1 }] },
      { name: "c", leftCores: 1, takesPods: true, pods: [] },
    ]);
    expect(told(listOf())).toBeUndefined();
    expect(told(undefined)).toBeUndefined();
  });

  it("is told of no more other nodes than a decision could start pods on, those with the most left", () => {
    const many = Array.from({ length: 100 }, (_, at) => node(`n${at}`, at + 1, GB));
    const left = told({ ...listOf(many), workloads: [workload("cart", ["n0"])] });
    expect(left).toHaveLength(9);
    expect(left?.map(({ leftCores }) => leftCores).sort((a, b) => a - b)).toEqual([
      0, 93, 94, 95, 96, 97, 98, 99, 100,
    ]);
  });
});
