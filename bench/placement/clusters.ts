import type { Rng } from "@tradewind/core/values/rng.ts";

/** An object as the API takes it. */
export type ApiObject = Readonly<Record<string, unknown>> & {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
};

/** A cluster, and a pod that its scheduler is to place. */
export interface Case {
  readonly nodes: readonly ApiObject[];
  /** Bound to nodes. */
  readonly pods: readonly ApiObject[];
  readonly next: ApiObject;
  /** What may keep it from nodes here. */
  readonly features: readonly string[];
}

/** The namespaces that pods lie in; the next pod is of the first. */
const NAMESPACES = ["shop", "others"] as const;
/** A RuntimeClass whose pods have 0.25 cores of overhead. */
export const RUNTIME_CLASS = "sandboxed";

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";
const APP = { app: "web" };

type Draw = <Item>(items: readonly Item[]) => Item;

const milli = (cores: number): string => `${Math.round(1e3 * cores)}m`;
const container = (name: string, cores: number, gibibytes: number) => ({
  name,
  image: "none",
  resources: { requests: { cpu: milli(cores), memory: `${Math.round(1_024 * gibibytes)}Mi` } },
});

/** One cluster of a few nodes by chance; equal seeds make equal clusters. */
export function caseOf(number: number, rng: Rng): Case {
  const draw: Draw = (items) => items[Math.floor(rng() * items.length)] as (typeof items)[number];
  const nodes = Array.from({ length: 3 + Math.floor(5 * rng()) }, (_, at) =>
    nodeOf(`c${number}-n${at}`, rng, draw),
  );
  const names = nodes.map(({ metadata }) => metadata.name);
  const pods = [
    ...names.map((node) =>
      bound(`daemon-${node}`, "others", { app: "daemon" }, on(node, container("main", 0.1, 0.1))),
    ),
    ...Array.from({ length: Math.floor(12 * rng()) }, (_, at) =>
      neighbour(`c${number}-p${at}`, draw(names), rng, draw),
    ),
    ...Array.from({ length: Math.floor(5 * rng()) }, (_, at) =>
      bound(`c${number}-web-${at}`, "shop", APP, on(draw(names), container("web", 0.5, 0.5))),
    ),
  ];
  const { features, spec } = asks(names, rng, draw);
  const next = {
    metadata: { name: `c${number}-next`, namespace: "shop", labels: APP },
    spec,
  };
  return { nodes, pods, next, features };
}

function nodeOf(name: string, rng: Rng, draw: Draw): ApiObject {
  const labels = {
    [HOST]: name,
    ...(rng() < 0.9 && { [ZONE]: draw(["a", "b", "c"]) }),
    ...(rng() < 0.5 && { disk: draw(["ssd", "hdd"]) }),
    ...(rng() < 0.5 && { generation: draw(["1", "2", "10"]) }),
  };
  const taints = [
    ...(rng() < 0.15 ? [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }] : []),
    ...(rng() < 0.1
      ? [{ key: "team", value: draw(["blue", "green"]), effect: draw(["NoSchedule", "NoExecute"]) }]
      : []),
    ...(rng() < 0.1 ? [{ key: "spot", value: "true", effect: "PreferNoSchedule" }] : []),
  ];
  const allocatable = {
    cpu: draw(["2", "3500m", "4", "8"]),
    memory: draw(["2Gi", "4Gi", "16Gi"]),
    pods: draw(["4", "8", "110"]),
    ...(rng() < 0.2 && { "nvidia.com/gpu": "1" }),
  };
  return {
    metadata: { name, labels } as ApiObject["metadata"],
    spec: { taints, ...(rng() < 0.08 && { unschedulable: true }) },
    status: { allocatable, capacity: allocatable, conditions: [{ type: "Ready", status: "True" }] },
  };
}

const bound = (
  name: string,
  namespace: string,
  labels: Readonly<Record<string, string>>,
  spec: { readonly nodeName: string; readonly containers: readonly object[] },
): ApiObject => ({
  metadata: { name, namespace, labels } as ApiObject["metadata"],
  spec,
});

const on = (nodeName: string, one: object) => ({ nodeName, containers: [one] });

/** Somebody else's pod, of one of the shapes that take more or less than the sum of its containers. */
function neighbour(name: string, node: string, rng: Rng, draw: Draw): ApiObject {
  const cores = 0.1 + Math.round(8 * rng()) / 10;
  const main = container("main", cores, draw([0.25, 0.5, 1]));
  const shape = draw(["plain", "init", "sidecar", "pod-level", "overhead", "apart", "port", "plain"]);
  const labels = { app: draw(["db", "cache"]), tier: draw(["front", "back"]) };
  const of = (spec: object, only: object = main): ApiObject =>
    bound(name, draw(NAMESPACES), labels, { ...on(node, only), ...spec });
  switch (shape) {
    case "init":
      return of({ initContainers: [container("migrate", 1.2, 0.1)] });
    case "sidecar":
      return of({
        initContainers: [
          { ...container("proxy", 0.2, 0.1), restartPolicy: "Always" },
          container("wait", cores, 0.1),
        ],
      });
    case "pod-level":
      return of(
        { resources: { requests: { cpu: milli(cores + 0.3), memory: "512Mi" } } },
        { name: "main", image: "none" },
      );
    case "overhead":
      return of({ runtimeClassName: RUNTIME_CLASS });
    case "apart":
      return of({
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: draw([ZONE, HOST]),
                labelSelector: { matchLabels: APP },
                ...draw([{}, { namespaceSelector: {} }, { namespaces: ["shop"] }]),
              },
            ],
          },
        },
      });
    case "port":
      return of({}, { ...main, ports: [{ containerPort: 80, hostPort: 8_080 }] });
    default:
      return of({});
  }
}

/** What the next pod asks for: always CPU and memory, and each of the rules by chance. */
function asks(names: readonly string[], rng: Rng, draw: Draw): { features: string[]; spec: object } {
  const features: string[] = [];
  const maybe = <Part extends object>(feature: string, chance: number, part: () => Part): Part | object => {
    if (rng() >= chance) return {};
    features.push(feature);
    return part();
  };
  const selector = { labelSelector: { matchLabels: APP } };
  const required = <Item>(item: Item) => ({ requiredDuringSchedulingIgnoredDuringExecution: item });
  const expression = draw([
    { key: "disk", operator: "In", values: ["ssd"] },
    { key: "disk", operator: "NotIn", values: ["hdd"] },
    { key: "disk", operator: "Exists" },
    { key: "disk", operator: "DoesNotExist" },
    { key: "generation", operator: "Gt", values: ["1"] },
    { key: "generation", operator: "Lt", values: ["10"] },
  ]);
  const affinity = {
    ...maybe("node-affinity", 0.25, () => ({
      nodeAffinity: required({
        nodeSelectorTerms: [
          { matchExpressions: [expression] },
          ...(rng() < 0.3
            ? [{ matchFields: [{ key: "metadata.name", operator: "In", values: [draw(names)] }] }]
            : []),
        ],
      }),
    })),
    ...maybe("pod-anti-affinity", 0.25, () => ({
      podAntiAffinity: required([{ topologyKey: draw([HOST, HOST, ZONE]), ...selector }]),
    })),
    ...maybe("pod-affinity", 0.1, () => ({
      podAffinity: required([
        {
          topologyKey: draw([HOST, ZONE]),
          labelSelector: { matchLabels: draw([APP, { app: "cache" }]) },
          ...draw([{}, { namespaces: [...NAMESPACES] }, { namespaceSelector: {} }]),
        },
      ]),
    })),
  };
  const main = container("web", 0.1 + Math.round(12 * rng()) / 10, draw([0.25, 0.5, 1, 2]));
  const gpu = maybe("extended-resource", 0.08, () => ({ "nvidia.com/gpu": "1" }));
  const { requests } = main.resources;
  const spec = {
    containers: [
      {
        ...main,
        resources: { requests: { ...requests, ...gpu }, limits: gpu },
        ...maybe("host-port", 0.1, () => ({ ports: [{ containerPort: 80, hostPort: 8_080 }] })),
      },
    ],
    ...maybe("init", 0.15, () => ({ initContainers: [container("migrate", 1.5, 0.1)] })),
    ...maybe("overhead", 0.1, () => ({ runtimeClassName: RUNTIME_CLASS })),
    ...maybe("node-selector", 0.15, () => ({ nodeSelector: { disk: "ssd" } })),
    ...maybe("tolerations", 0.3, () => ({
      tolerations: draw([
        [{ operator: "Exists" }],
        [{ key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" }],
        [{ key: "team", operator: "Equal", value: "blue" }],
      ]),
    })),
    ...maybe("spread", 0.3, () => ({
      topologySpreadConstraints: [
        {
          topologyKey: draw([ZONE, HOST]),
          maxSkew: draw([1, 1, 2]),
          whenUnsatisfiable: "DoNotSchedule",
          ...selector,
          ...(rng() < 0.2 && { minDomains: 3 }),
          ...(rng() < 0.3 && { nodeTaintsPolicy: "Honor" }),
          ...(rng() < 0.2 && { nodeAffinityPolicy: "Ignore" }),
        },
      ],
    })),
    ...(Object.keys(affinity).length > 0 && { affinity }),
  };
  return { features, spec };
}
