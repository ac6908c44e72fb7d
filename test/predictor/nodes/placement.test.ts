import type { NodeGroup, Placing, PodRule, SpreadRule } from "@tradewind/core/contract/placing.ts";
import type { NodeCapacity } from "@tradewind/core/contract/workload.ts";
import { addsFor, meets, Placement } from "@tradewind/predictor/nodes/placement.ts";
import { describe, expect, it } from "vitest";

const GB = 1e9;
const ZONE = "topology.kubernetes.io/zone";
const CONTROL_PLANE = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };

const node = (name: string, rest: Partial<NodeCapacity> = {}): NodeCapacity => ({
  name,
  schedulable: true,
  cpuCores: 4,
  memoryBytes: 8 * GB,
  pods: 110,
  taken: { pods: 0 },
  ...rest,
});
const web = (rest: Partial<Placing> = {}): Placing => ({ requests: { cpu: 1, memory: GB }, ...rest });
const refusals = (nodes: readonly NodeCapacity[], placing: Placing): unknown[] => [
  ...new Placement(nodes).refusals(placing).values(),
];
const fits = (nodes: readonly NodeCapacity[], placing: Placing): number =>
  new Placement(nodes).fits(placing, 64);
const inZone = (name: string, zone: string, rest: Partial<NodeCapacity> = {}): NodeCapacity =>
  node(name, { labels: { [ZONE]: zone }, ...rest });

describe("the next pod", () => {
  it.each([
    ["CPU", { taken: { cpu: 3.5, pods: 3 } }],
    ["memory", { taken: { memory: 7.5 * GB, pods: 3 } }],
    ["a slot", { pods: 3, taken: { pods: 3 } }],
  ])("goes to no node that lacks %s", (_what, rest) => {
    expect(refusals([node("full", rest), node("free")], web())).toEqual(["room", undefined]);
  });

  it("goes where exactly as much is left as it requests, whatever fractions were added up", () => {
    const taken = { cpu: 0.1 + 0.2 + 2.7, pods: 3 };
    expect(refusals([node("a", { taken })], web())).toEqual([undefined]);
  });

  it("goes to no node without a resource that it asks for by name", () => {
    const gpu = web({ requests: { cpu: 1, "nvidia.com/gpu": 1 } });
    expect(refusals([node("a"), node("b", { others: { "nvidia.com/gpu": 1 } })], gpu)).toEqual([
      "room",
      undefined,
    ]);
  });

  it("goes to a tainted node only where it tolerates each taint that blocks", () => {
    const nodes = [
      node("control-plane", { taints: [CONTROL_PLANE] }),
      node("preferred-not", { taints: [{ key: "spot", value: "true", effect: "PreferNoSchedule" }] }),
      node("blue", { taints: [{ key: "team", value: "blue", effect: "NoExecute" }] }),
    ];
    expect(refusals(nodes, web())).toEqual(["taint", undefined, "taint"]);
    const tolerations = [{ key: "team", operator: "Equal", value: "blue", effect: "NoExecute" }];
    expect(refusals(nodes, web({ tolerations }))).toEqual(["taint", undefined, undefined]);
    expect(refusals(nodes, web({ tolerations: [{ operator: "Exists" }] }))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("needs all labels that it selects, and one term of its node affinity", () => {
    const nodes = [
      node("ssd", { labels: { disk: "ssd", generation: "10" } }),
      node("hdd", { labels: { disk: "hdd", generation: "2" } }),
    ];
    expect(refusals(nodes, web({ labels: { disk: "ssd" } }))).toEqual([undefined, "labels"]);
    const newer = { labels: [{ key: "generation", operator: "Gt", values: ["9"] }], names: [] };
    const named = { labels: [], names: [{ key: "metadata.name", operator: "In", values: ["hdd"] }] };
    const empty = { labels: [], names: [] };
    expect(refusals(nodes, web({ terms: [newer] }))).toEqual([undefined, "labels"]);
    expect(refusals(nodes, web({ terms: [newer, named] }))).toEqual([undefined, undefined]);
    expect(refusals(nodes, web({ terms: [empty] }))).toEqual(["labels", "labels"]);
  });

  it("keeps apart from pods that it is not to be with, by the place that its rule names", () => {
    const nodes = [inZone("a1", "a"), inZone("a2", "a"), inZone("b1", "b"), node("none")];
    const rule = (topologyKey?: string): PodRule => ({
      ...(topologyKey !== undefined && { topologyKey }),
      pods: { a1: 1 },
      countsItself: true,
    });
    expect(refusals(nodes, web({ apart: [rule(ZONE)] }))).toEqual(["apart", "apart", undefined, undefined]);
    expect(refusals(nodes, web({ apart: [rule()] }))).toEqual(["apart", undefined, undefined, undefined]);
  });

  it("goes only where pods are that it is to be with; the first of its own kind may go to any place", () => {
    const nodes = [inZone("a1", "a"), inZone("b1", "b"), node("none")];
    const rule: PodRule = { topologyKey: ZONE, pods: { b1: 2 }, countsItself: true };
    expect(refusals(nodes, web({ together: [rule] }))).toEqual(["together", undefined, "together"]);
    const first = { ...rule, pods: {} };
    expect(refusals(nodes, web({ together: [first] }))).toEqual([undefined, undefined, "together"]);
    const others = { ...first, countsItself: false };
    expect(refusals(nodes, web({ together: [others] }))).toEqual(["together", "together", "together"]);
  });

  it("keeps places even: no more than the skew above the emptiest, which counts as empty where there are too few", () => {
    const nodes = [inZone("a1", "a"), inZone("b1", "b"), node("none")];
    const rule: SpreadRule = {
      topologyKey: ZONE,
      pods: { a1: 2, b1: 1 },
      countsItself: true,
      maxSkew: 1,
      honorsLabels: true,
      honorsTaints: false,
    };
    expect(refusals(nodes, web({ spread: [rule] }))).toEqual(["spread", undefined, "spread"]);
    expect(refusals(nodes, web({ spread: [{ ...rule, maxSkew: 2 }] }))).toEqual([
      undefined,
      undefined,
      "spread",
    ]);
    expect(refusals(nodes, web({ spread: [{ ...rule, minDomains: 3 }] }))).toEqual([
      "spread",
      "spread",
      "spread",
    ]);
  });

  it("counts places on nodes that it may not go to unless its rule leaves them out", () => {
    const nodes = [inZone("a1", "a"), inZone("b1", "b", { taints: [CONTROL_PLANE] })];
    const rule: SpreadRule = {
      topologyKey: ZONE,
      pods: { a1: 1 },
      countsItself: true,
      maxSkew: 1,
      honorsLabels: true,
      honorsTaints: false,
    };
    expect(refusals(nodes, web({ spread: [rule] }))).toEqual(["spread", "taint"]);
    expect(refusals(nodes, web({ spread: [{ ...rule, honorsTaints: true }] }))).toEqual([undefined, "taint"]);
  });

  it("is not kept from anywhere by what is not known", () => {
    const bare: NodeCapacity = { name: "a", schedulable: true };
    expect(refusals([bare, { ...bare, name: "b", schedulable: false }], web())).toEqual([
      undefined,
      "not-ready",
    ]);
  });
});

describe("how many pods more fit", () => {
  it("is the sum over nodes without rules, and one a node where they keep apart", () => {
    const nodes = [
      node("a"),
      node("b", { taken: { cpu: 2.5, pods: 9 } }),
      node("c", { taints: [CONTROL_PLANE] }),
    ];
    expect(fits(nodes, web())).toBe(5);
    expect(fits(nodes, web({ apart: [{ pods: {}, countsItself: true }] }))).toBe(2);
  });

  it("ends where a zone is full that the others have to be even with", () => {
    const nodes = [inZone("a1", "a"), inZone("b1", "b", { taken: { cpu: 3, pods: 1 } })];
    const spread = [
      {
        topologyKey: ZONE,
        pods: {},
        countsItself: true,
        maxSkew: 1,
        honorsLabels: true,
        honorsTaints: false,
      },
    ];
    expect(fits(nodes, web({ spread }))).toBe(3);
  });
});

describe("nodes that an autoscaler can add", () => {
  const group = (rest: Partial<NodeGroup> = {}): NodeGroup => ({
    name: "pool",
    labels: { team: "shop" },
    taints: [],
    requirements: [{ key: "disk", operator: "In", values: ["ssd"] }],
    left: {},
    ...rest,
  });

  it.each([
    ["pods without rules", {}, {}, true],
    ["pods that select its labels", {}, { labels: { team: "shop", disk: "ssd" } }, true],
    ["pods that select a label of the platform", {}, { labels: { "kubernetes.io/arch": "arm64" } }, true],
    ["no pods that select another value", {}, { labels: { disk: "hdd" } }, false],
    ["no pods that select a label it does not set", {}, { labels: { pool: "gpu" } }, false],
    ["no pods that do not tolerate its taints", { taints: [CONTROL_PLANE] }, {}, false],
    ["none once its limit is reached", { left: { cpu: 0 } }, {}, false],
    ["none where a node is too small", { node: { cpu: 0.5 } }, {}, false],
  ])("take %s", (_what, rest, placing, expected) => {
    expect(addsFor(group(rest as Partial<NodeGroup>), web(placing as Partial<Placing>))).toBe(expected);
  });
});

it("a requirement of a later API is met by no label", () => {
  expect(meets({ key: "disk", operator: "Like", values: ["s*"] }, "ssd")).toBe(false);
});

describe("the pods that would have to go for the next one", () => {
  const held = (workload: string, on: string, cpu: number) => ({ workload, node: on, requests: { cpu } });
  const wayIn = (nodes: readonly NodeCapacity[], pods: Parameters<Placement["roomToMake"]>[1]) => {
    const way = new Placement(nodes).roomToMake(web(), pods);
    return way && [way.node, Object.fromEntries(way.pods)];
  };
  const full = { taken: { cpu: 3.5, pods: 4 } };

  it("are the fewest of all nodes that are for it", () => {
    const pods = [
      ...["a", "a", "a"].map((on) => held("shop/cart", on, 0.3)),
      held("shop/small", "b", 0.1),
      held("shop/large", "b", 0.6),
      held("shop/large", "tainted", 2),
    ];
    const tainted = node("tainted", { ...full, taints: [CONTROL_PLANE] });
    expect(wayIn([node("a", full), node("b", full), tainted], pods)).toEqual(["b", { "shop/large": 1 }]);
    expect(wayIn([node("a", full)], pods)).toEqual(["a", { "shop/cart": 2 }]);
  });

  it("are any where only a slot is missing", () => {
    const noSlot = node("a", { pods: 3, taken: { cpu: 1, pods: 3 } });
    expect(wayIn([noSlot], [held("shop/cart", "a", 0.1)])).toEqual(["a", { "shop/cart": 1 }]);
  });

  it("are not known where all that can be seen hold too little", () => {
    expect(wayIn([node("a", full)], [held("shop/cart", "a", 0.1)])).toBeUndefined();
  });
});
