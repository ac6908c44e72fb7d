import { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { Node } from "@tradewind/kubernetes/objects/capacity.ts";
import { AutoscalerStatus, NodePool } from "@tradewind/kubernetes/objects/node-group.ts";
import { BoundPod, Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { workloadList } from "@tradewind/kubernetes/workloads/workload-list.ts";
import {
  coresToCome,
  cpuLeft,
  NodeRoom,
  nodesFor,
  nodesLeft,
  podsMore,
} from "@tradewind/predictor/nodes/node-room.ts";
import { describe, expect, it } from "vitest";

const GB = 1e9;

const node = (name: string, cpu: string, rest: { labels?: object; spec?: object; pods?: string } = {}) => ({
  metadata: { name, labels: rest.labels ?? {} },
  spec: rest.spec ?? {},
  status: {
    allocatable: { cpu, memory: "16Gi", pods: rest.pods ?? "110" },
    conditions: [{ type: "Ready", status: "True" }],
  },
});
const requesting = (cpu: string, rest: object = {}) => ({
  name: "main",
  resources: { requests: { cpu } },
  ...rest,
});
const pod = (
  name: string,
  spec: object,
  rest: { namespace?: string; owner?: string; labels?: object } = {},
) => ({
  metadata: {
    name,
    namespace: rest.namespace ?? "shop",
    uid: name,
    labels: rest.labels ?? {},
    ...(rest.owner !== undefined && {
      ownerReferences: [{ kind: "StatefulSet", name: rest.owner, uid: rest.owner, controller: true }],
    }),
  },
  spec: { nodeName: "n1", containers: [requesting("500m")], ...spec },
  status: { phase: "Running", containerStatuses: [{ name: "main", containerID: `containerd://${name}` }] },
});
const web = pod("web-0", {}, { owner: "web", labels: { app: "web" } });

function listOf(
  nodes: readonly object[],
  others: readonly object[] = [],
  {
    own = [web],
    pods = true,
    template = {},
  }: { own?: readonly object[]; pods?: boolean; template?: object } = {},
): WorkloadList {
  return WorkloadList.parse(
    workloadList(
      {
        scalables: [
          scalable("StatefulSet").parse({
            metadata: { name: "web", namespace: "shop", uid: "web" },
            spec: {
              template: {
                metadata: { labels: { app: "web" } },
                spec: { containers: [requesting("500m")], ...template },
              },
            },
          }),
        ],
        replicaSets: [],
        pods: own.map((each) => Pod.parse(each)),
        ...(pods && { boundPods: [...own, ...others].map((each) => BoundPod.parse(each)) }),
        nodes: nodes.map((each) => Node.parse(each)),
        horizontalPodAutoscalers: undefined,
        scaledObjects: [],
        quotas: undefined,
        budgets: undefined,
      },
      () => undefined,
      0,
    ),
  );
}

const leftOf = (list: WorkloadList): number | undefined => cpuLeft(list).get("n1");
const totalOf = (list: WorkloadList): number | undefined =>
  new NodeRoom().total(list, cpuLeft(list), "shop", 0)?.cpuCores;

describe("what pods take of a node", () => {
  it.each([
    ["a DaemonSet's, a Job's and a bare pod", [{}, { containers: [requesting("1")] }], 4 - 0.5 - 0.5 - 1],
    [
      "an init container that requests more than the rest",
      [{ initContainers: [{ ...requesting("2"), name: "migrate" }] }],
      1.5,
    ],
    [
      "a sidecar, beside what init containers after it request",
      [
        {
          initContainers: [
            { ...requesting("1"), name: "proxy", restartPolicy: "Always" },
            { ...requesting("2"), name: "migrate" },
          ],
        },
      ],
      0.5,
    ],
    ["the overhead of a sandbox", [{ overhead: { cpu: "250m" } }], 2.75],
    [
      "what the pod states for all its containers",
      [{ containers: [{ name: "main" }], resources: { requests: { cpu: "2" } } }],
      1.5,
    ],
  ])("counts %s of any namespace", (_what, specs, expected) => {
    const others = specs.map((spec, at) => pod(`other-${at}`, spec, { namespace: "kube-system" }));
    expect(leftOf(listOf([node("n1", "4")], others))).toBeCloseTo(expected, 9);
  });

  it("counts no pod that has ended or has no node", () => {
    const ended = { ...pod("job", {}), status: { phase: "Succeeded" } };
    const waiting = pod("waiting", { nodeName: undefined });
    expect(leftOf(listOf([node("n1", "4")], [ended, waiting]))).toBe(3.5);
  });

  it("counts what a resize sets aside until the pod has less", () => {
    const shrinking = {
      ...pod("shrinking", { containers: [requesting("1")] }),
      status: { phase: "Running", containerStatuses: [{ name: "main", allocatedResources: { cpu: "2" } }] },
    };
    expect(leftOf(listOf([node("n1", "4")], [shrinking]))).toBe(1.5);
  });

  it("is what known workloads request where other namespaces may not be seen", () => {
    const list = listOf([node("n1", "4")], [], { pods: false });
    expect(list.nodes?.[0]?.taken).toEqual({ cpu: 0.5 });
    expect(leftOf(list)).toBe(3.5);
    expect(podsMore(list, "shop")).toEqual(new Map());
  });
});

it("a pod that states its resources for all containers together gives them to its main one", () => {
  const resources = { requests: { cpu: "2", memory: "1Gi" }, limits: { cpu: "3", memory: "2Gi" } };
  const whole = pod("web-0", { containers: [{ name: "main" }], resources }, { owner: "web" });
  const [workload] = listOf([node("n1", "4")], [], { own: [whole] }).workloads;
  expect(workload?.pods[0]?.containers[0]).toMatchObject({
    cpuRequestCores: 2,
    memoryRequestBytes: 2 ** 30,
    cpuLimitCores: 3,
    memoryLimitBytes: 2 * 2 ** 30,
  });
});

describe("nodes that are not for the application", () => {
  const nodes = [
    node("n1", "2"),
    node("control-plane", "8", {
      spec: { taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }] },
    }),
    node("virtual", "10k", {
      labels: { type: "virtual-kubelet" },
      spec: { taints: [{ key: "virtual-kubelet.io/provider", value: "azure", effect: "NoSchedule" }] },
    }),
    node("leaving", "16", { spec: { taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] } }),
    node("cordoned", "16", { spec: { unschedulable: true } }),
  ];

  it("are no room: neither together, nor for the largest container, nor for the next pod", () => {
    const list = listOf(nodes);
    expect(nodesFor(list, "shop").map(({ name }) => name)).toEqual(["n1"]);
    expect(totalOf(list)).toBe(2);
    const prices = { cpuCoreHour: 0.03, memoryGigabyteHour: 0.004 };
    expect(new NodeRoom().largest(list, prices, 0, "shop")?.cpuCores).toBe(2);
    const left = nodesLeft(list, "shop", cpuLeft(list));
    expect(left?.filter(({ takesPods }) => takesPods).map(({ name }) => name)).toEqual(["n1"]);
  });

  it("are room where the workload's pods tolerate them", () => {
    const tolerations = [{ key: "node-role.kubernetes.io/control-plane", operator: "Exists" }];
    const tolerant = pod("web-0", { tolerations }, { owner: "web" });
    expect(totalOf(listOf(nodes, [], { own: [tolerant] }))).toBe(10);
    expect(totalOf(listOf(nodes, [], { own: [], template: { tolerations } }))).toBe(10);
  });
});

describe("nodes of Windows, tainted or not", () => {
  const nodes = [node("n1", "2"), node("win", "8", { labels: { "kubernetes.io/os": "windows" } })];
  const term = { matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: ["windows"] }] };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };

  it.each<[string, object, string[]]>([
    ["are not for pods that say nothing of it", {}, ["n1"]],
    ["are for pods that select it", { nodeSelector: { "kubernetes.io/os": "windows" } }, ["win"]],
    ["are for pods whose affinity asks for it", { affinity: { nodeAffinity: required } }, ["win"]],
    ["are for pods that say they are for it", { os: { name: "windows" } }, ["n1", "win"]],
  ])("%s", (_what, spec, expected) => {
    const own = [pod("web-0", { nodeName: undefined, ...spec }, { owner: "web" })];
    expect(nodesFor(listOf(nodes, [], { own }), "shop").map(({ name }) => name)).toEqual(expected);
  });
});

describe("what pods of a namespace may request together", () => {
  it("is all the CPU of nodes that they have to themselves", () => {
    expect(totalOf(listOf([node("n1", "2"), node("n2", "4")]))).toBe(6);
  });

  it("is without what others request, and without nodes where no pod of it fits", () => {
    const others = [
      pod("a", { containers: [requesting("1")] }, { namespace: "others" }),
      pod("b", { nodeName: "n2", containers: [requesting("3600m")] }, { namespace: "others" }),
    ];
    expect(totalOf(listOf([node("n1", "4"), node("n2", "4")], others))).toBe(3);
  });

  it("is what slots are left for, whatever CPU there is", () => {
    const daemon = pod("daemon", { nodeName: "n2", containers: [{ name: "main" }] }, { namespace: "others" });
    const list = listOf([node("n1", "4", { pods: "1" }), node("n2", "4", { pods: "3" })], [daemon]);
    expect(totalOf(list)).toBe(0.5 + 2 * 0.5);
    expect(podsMore(list, "shop")).toEqual(new Map([["web", 2]]));
  });
});

describe("rules of a workload's pods", () => {
  const apart = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "web" } } },
      ],
    },
  };
  const hosts = ["n1", "n2", "n3"].map((name) =>
    node(name, "4", { labels: { "kubernetes.io/hostname": name } }),
  );

  it("bound its replicas: one a node where they keep apart", () => {
    const own = [pod("web-0", { affinity: apart }, { owner: "web", labels: { app: "web" } })];
    expect(podsMore(listOf(hosts, [], { own }), "shop")).toEqual(new Map([["web", 2]]));
  });

  it("are those of others too, which keep it from their nodes", () => {
    const hostile = pod(
      "db-0",
      {
        nodeName: "n2",
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: "kubernetes.io/hostname",
                labelSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["web"] }] },
                namespaceSelector: {},
              },
            ],
          },
        },
      },
      { namespace: "others", labels: { app: "db" } },
    );
    const [workload] = listOf(hosts, [hostile]).workloads;
    expect(workload?.placing?.apart).toEqual([
      { topologyKey: "kubernetes.io/hostname", pods: { n2: 1 }, countsItself: false },
    ]);
  });

  it("hold nothing up where they name namespaces by labels, which are not read", () => {
    const unread = structuredClone(apart);
    Object.assign(unread.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]!, {
      namespaceSelector: { matchLabels: { team: "shop" } },
    });
    const own = [pod("web-0", { affinity: unread }, { owner: "web", labels: { app: "web" } })];
    expect(podsMore(listOf(hosts, [], { own }), "shop")).toEqual(new Map());
  });

  it("are nothing that is known where another scheduler places its pods", () => {
    const own = [pod("web-0", { schedulerName: "fargate-scheduler" }, { owner: "web" })];
    expect(listOf(hosts, [], { own }).workloads[0]).not.toHaveProperty("placing");
  });
});

describe("nodes that autoscalers can add", () => {
  const withGroups = (...nodeGroups: NonNullable<WorkloadList["nodeGroups"]>): WorkloadList => ({
    ...listOf([node("n1", "2")]),
    nodeGroups,
  });

  it("are what a NodePool of Karpenter has left of its limits", () => {
    const pool = NodePool.parse({
      metadata: { name: "default" },
      spec: {
        limits: { cpu: "100", memory: "400Gi" },
        template: {
          metadata: { labels: { team: "shop" } },
          spec: {
            requirements: [{ key: "kubernetes.io/arch", operator: "In", values: ["amd64"] }],
            nodeClassRef: { name: "default" },
          },
        },
      },
      status: { resources: { cpu: "60", memory: "100Gi" } },
    });
    expect(coresToCome(withGroups(pool), "shop")).toBe(2);
    expect(coresToCome(withGroups({ ...pool, left: { cpu: 1 } }), "shop")).toBe(1);
    expect(coresToCome(withGroups({ ...pool, node: { cpu: 16 } }), "shop")).toBe(16);
    expect(coresToCome(withGroups({ ...pool, left: { cpu: 0 } }), "shop")).toBeUndefined();
  });

  it.each([
    [
      "as releases since 1.30 write it",
      "autoscalerStatus: Running\nnodeGroups:\n- name: pool-a\n  health:\n    cloudProviderTarget: 3\n    minSize: 1\n    maxSize: 10\n",
    ],
    [
      "as earlier ones do",
      "Cluster-autoscaler status at 2026-01-02 03:04:05:\nNodeGroups:\n  Name:        pool-a\n  Health:      Healthy (ready=3 registered=3 cloudProviderTarget=3 (minSize=1, maxSize=10))\n",
    ],
  ])("are what the Cluster Autoscaler's status leaves of its groups, %s", (_how, status) => {
    const groups = AutoscalerStatus.parse({ data: { status } });
    expect(groups).toMatchObject([{ name: "pool-a", left: { nodes: 7 } }]);
    expect(coresToCome(withGroups(...groups), "shop")).toBe(2);
  });

  it("take the bound of pods that keep apart from a workload", () => {
    const list = listOf([node("n1", "4", { pods: "1" })]);
    expect(podsMore(list, "shop")).toEqual(new Map([["web", 0]]));
    const group = { name: "pool", labels: {}, taints: [], requirements: [], left: { nodes: 3 } };
    expect(podsMore({ ...list, nodeGroups: [group] }, "shop")).toEqual(new Map());
  });
});

it("memory that others request is none of the largest container's", () => {
  const others = [
    pod(
      "a",
      { containers: [{ name: "main", resources: { requests: { memory: "6Gi" } } }] },
      { namespace: "x" },
    ),
  ];
  const prices = { cpuCoreHour: 0.03, memoryGigabyteHour: 0.004 };
  const list = listOf([node("n1", "4")], others);
  const largest = new NodeRoom().largest(list, prices, 0, "shop");
  expect(largest?.memoryBytes).toBe(10 * 2 ** 30);
  expect(largest?.memoryBytes).toBeLessThan(16 * GB);
});
