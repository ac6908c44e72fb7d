import { NodeClassName } from "@tradewind/core/contract/quantity.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { NodeCapacity, WorkloadList } from "@tradewind/core/contract/workload.ts";
import { nodeClassOf } from "@tradewind/predictor/nodes/node-class.ts";
import { nodeClassesOf } from "@tradewind/predictor/nodes/node-classes.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("the class of a node", () => {
  it.each([
    [{ instanceType: "m7i.large", inventory: { cpuModel: "Intel Xeon", cpuCores: 2 } }, "m7i.large"],
    [{ inventory: { cpuModel: "AMD EPYC 7B13", cpuCores: 8 } }, "AMD-EPYC-7B13-8-cpus"],
    [
      { inventory: { cpuModel: "Intel Xeon(R) CPU @ 2.20GHz", cpuCores: 4 } },
      "Intel-Xeon-CPU-2.20GHz-4-cpus",
    ],
    [{ inventory: { cpuModel: "ARM Neoverse-N1" } }, "ARM-Neoverse-N1"],
    [{ inventory: { cpuCores: 4 } }, undefined],
    [{ instanceType: "not a label", inventory: undefined }, undefined],
  ])("of %j is %s", (facts, expected) => {
    expect(nodeClassOf(facts)).toBe(expected);
  });

  it("is a Kubernetes label value whatever a CPU calls itself", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.option(fc.nat({ max: 9_999 })), (cpuModel, cores) => {
        const found = nodeClassOf({ inventory: { cpuModel, ...(cores !== null && { cpuCores: cores }) } });
        expect(NodeClassName.optional().safeParse(found).success).toBe(true);
      }),
    );
  });
});

const listOf = (...nodes: Partial<NodeCapacity>[]): WorkloadList => ({
  schema: WORKLOADS_SCHEMA,
  observedAtMs: 0,
  workloads: [],
  nodes: nodes.map((node, at) => ({ name: `node-${at}`, schedulable: true, ...node })),
});

describe("classes of the nodes of a cluster", () => {
  const told = new Map([
    ["node-0", { inventory: { cpuModel: "A", cpuCores: 2 } }],
    ["node-1", { inventory: { cpuModel: "B", cpuCores: 2 } }],
  ]);

  it("come from instance types, and from agents where the platform states none", () => {
    const classes = nodeClassesOf(listOf({ instanceType: "large" }, {}), told);
    expect(Object.fromEntries(classes)).toEqual({ "node-0": "large", "node-1": "B-2-cpus" });
  });

  it("come from agents alone where the platform lists no nodes", () => {
    const classes = nodeClassesOf(undefined, told);
    expect(Object.fromEntries(classes)).toEqual({ "node-0": "A-2-cpus", "node-1": "B-2-cpus" });
  });

  it("are told apart of one class as well where there were several", () => {
    const classes = nodeClassesOf(listOf({ instanceType: "large" }), new Map(), true);
    expect(Object.fromEntries(classes)).toEqual({ "node-0": "large" });
  });

  it("are none where all nodes are alike, so that nothing changes for such a cluster", () => {
    expect(nodeClassesOf(listOf({ instanceType: "large" }, { instanceType: "large" })).size).toBe(0);
    expect(nodeClassesOf(listOf({}, {})).size).toBe(0);
  });
});
