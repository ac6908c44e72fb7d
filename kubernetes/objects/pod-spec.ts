import { z } from "zod";
import type { Amounts, NodeTerm, Toleration } from "@tradewind/core/contract/placing.ts";
import { ListOf } from "./bounded.ts";
import { LabelSelector } from "./label-selector.ts";
import { StringMap } from "./metadata.ts";
import { Quantity } from "./quantity.ts";
import type { Resources } from "./quantity.ts";

/** Kubernetes itself sets no number; a pod of more containers is not read. */
export const MOST_CONTAINERS = 250;
const MOST_PORTS = 1_000;
/** Of each rule: terms, requirements, label keys, tolerations. */
const MOST_RULES = 100;
/** Values of a requirement, namespaces of a term. */
const MOST_NAMED = 1_000;

const Text = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined);

/** A `requests`, `limits` or `allocatable` list, whatever it names. */
export const AmountList = z
  .record(z.string(), Quantity)
  .nullish()
  .transform((amounts): Amounts => amounts ?? {});

export const SpecResources = z
  .object({ requests: AmountList, limits: AmountList })
  .nullish()
  .transform((lists) => ({ requests: lists?.requests ?? {}, limits: lists?.limits ?? {} }));

/** Of a list CPU and memory alone. */
export const cpuAndMemory = ({ cpu, memory }: Amounts): Resources => ({
  ...(cpu !== undefined && { cpuCores: cpu }),
  ...(memory !== undefined && { memoryBytes: memory }),
});

export const RequestingContainer = z.object({
  name: z.string(),
  resources: SpecResources,
  restartPolicy: z.string().nullish(),
  ports: ListOf(
    z.object({
      hostPort: z.number().nullish(),
      protocol: z.string().nullish(),
      hostIP: z.string().nullish(),
    }),
    MOST_PORTS,
  ),
});

/** What labels of a node are to be. */
export const RequirementList = ListOf(
  z.object({ key: z.string(), operator: z.string(), values: ListOf(z.string(), MOST_NAMED) }),
  MOST_RULES,
);

const NodeAffinityTerm = z
  .object({ matchExpressions: RequirementList, matchFields: RequirementList })
  .transform(({ matchExpressions, matchFields }): NodeTerm => ({
    labels: matchExpressions,
    names: matchFields,
  }));

const PodTerm = z
  .object({
    topologyKey: z.string(),
    labelSelector: LabelSelector.nullish(),
    namespaces: ListOf(z.string(), MOST_NAMED),
    namespaceSelector: LabelSelector.nullish(),
    matchLabelKeys: ListOf(z.string(), MOST_RULES),
    mismatchLabelKeys: ListOf(z.string(), MOST_RULES),
  })
  .transform(({ labelSelector, namespaceSelector, ...term }) => ({
    ...term,
    selector: labelSelector ?? undefined,
    /** Every namespace; `named` by labels that are not read. */
    namespaceChoice: namespacesBy(namespaceSelector ?? undefined),
  }));
/** Pods that a pod asks to be with, or to be apart from. */
export type PodTerm = z.infer<typeof PodTerm>;

function namespacesBy(selector: LabelSelector | undefined): "own" | "all" | "labels" {
  if (selector === undefined) return "own";
  return Object.keys(selector.matchLabels).length + selector.matchExpressions.length === 0 ? "all" : "labels";
}

const PodTerms = z
  .object({ requiredDuringSchedulingIgnoredDuringExecution: ListOf(PodTerm, MOST_RULES) })
  .nullish()
  .transform((terms) => terms?.requiredDuringSchedulingIgnoredDuringExecution ?? []);

const SpreadConstraint = z.object({
  topologyKey: z.string(),
  maxSkew: z.number().int().positive(),
  minDomains: z.number().int().positive().nullish(),
  whenUnsatisfiable: z.string(),
  labelSelector: LabelSelector.nullish(),
  matchLabelKeys: ListOf(z.string(), MOST_RULES),
  nodeAffinityPolicy: z.string().nullish(),
  nodeTaintsPolicy: z.string().nullish(),
});
export type SpreadConstraint = z.infer<typeof SpreadConstraint>;

const TolerationList = ListOf(
  z
    .object({ key: Text, operator: Text, value: Text, effect: Text })
    .transform(({ effect, key, operator, value }): Toleration => ({
      ...(key !== undefined && { key }),
      ...(operator !== undefined && { operator }),
      ...(value !== undefined && { value }),
      ...(effect !== undefined && { effect }),
    })),
  MOST_RULES,
);

/** Set on every node by its kubelet. */
export const OS_LABEL = "kubernetes.io/os";
export const WINDOWS = "windows";
/** What a pod for Windows has in common with one that tolerates it. */
const TOLERATES_WINDOWS: Toleration = { key: OS_LABEL, operator: "Equal", value: WINDOWS };

/** Whether a pod is for Windows: by what it says itself, or by the nodes that it asks for. */
const isForWindows = ({ nodeSelector, os }: PlacedSpec, terms: readonly NodeTerm[] = []): boolean =>
  os?.name === WINDOWS ||
  nodeSelector[OS_LABEL] === WINDOWS ||
  terms.some(({ labels }) =>
    labels.some(
      ({ key, operator, values }) => key === OS_LABEL && operator === "In" && values.includes(WINDOWS),
    ),
  );

const DEFAULT_SCHEDULER = "default-scheduler";
/** Tolerated by every pod for a while. */
const TOLERATED_BY_ALL = new Set(["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);

/** What a pod asks of the node that is to take it, and what it takes of it. */
export const PlacedSpec = z.object({
  nodeName: Text,
  containers: ListOf(RequestingContainer, MOST_CONTAINERS),
  initContainers: ListOf(RequestingContainer, MOST_CONTAINERS),
  resources: SpecResources,
  overhead: AmountList,
  nodeSelector: StringMap,
  tolerations: TolerationList,
  topologySpreadConstraints: ListOf(SpreadConstraint, MOST_RULES),
  schedulerName: Text,
  os: z.object({ name: Text }).nullish(),
  affinity: z
    .object({
      nodeAffinity: z
        .object({
          requiredDuringSchedulingIgnoredDuringExecution: z
            .object({ nodeSelectorTerms: ListOf(NodeAffinityTerm, MOST_RULES) })
            .nullish(),
        })
        .nullish(),
      podAffinity: PodTerms,
      podAntiAffinity: PodTerms,
    })
    .nullish(),
});
export type PlacedSpec = z.infer<typeof PlacedSpec>;

/** Rules by which a pod finds a node. Parts that it lacks are absent: most pods have none, and there are many. */
export interface PodRules {
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly nodeTerms?: readonly NodeTerm[];
  readonly tolerations?: readonly Toleration[];
  readonly together?: readonly PodTerm[];
  readonly apart?: readonly PodTerm[];
  readonly spread?: readonly SpreadConstraint[];
  readonly hostPorts?: readonly string[];
  /** Another scheduler than the cluster's own chooses the node. */
  readonly isElsewhere?: true;
}

export function rulesOf(spec: PlacedSpec): PodRules {
  const { affinity, nodeSelector, schedulerName = DEFAULT_SCHEDULER } = spec;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const tolerations = [
    ...spec.tolerations.filter(
      ({ effect, key, operator }) =>
        !(effect === "NoExecute" && operator === "Exists" && TOLERATED_BY_ALL.has(key ?? "")),
    ),
    ...(isForWindows(spec, terms) ? [TOLERATES_WINDOWS] : []),
  ];
  const { podAffinity: together = [], podAntiAffinity: apart = [] } = affinity ?? {};
  const spread = spec.topologySpreadConstraints.filter((each) => each.whenUnsatisfiable === "DoNotSchedule");
  const hostPorts = hostPortsOf(spec);
  return {
    ...(Object.keys(nodeSelector).length > 0 && { nodeLabels: nodeSelector }),
    ...(terms !== undefined && { nodeTerms: terms }),
    ...(tolerations.length > 0 && { tolerations }),
    ...(together.length > 0 && { together }),
    ...(apart.length > 0 && { apart }),
    ...(spread.length > 0 && { spread }),
    ...(hostPorts.length > 0 && { hostPorts }),
    ...(schedulerName !== "" && schedulerName !== DEFAULT_SCHEDULER && { isElsewhere: true as const }),
  };
}

/** Ports of the node that it binds, `TCP/8080`. */
const hostPortsOf = ({ containers, initContainers }: PlacedSpec): string[] =>
  [...containers, ...initContainers.filter(staysOn)]
    .flatMap(({ ports }) => ports)
    .flatMap(({ hostPort, protocol }) =>
      typeof hostPort === "number" && hostPort > 0 ? [`${protocol ?? "TCP"}/${hostPort}`] : [],
    );

const staysOn = ({ restartPolicy }: { readonly restartPolicy?: string | null | undefined }): boolean =>
  restartPolicy === "Always";

/** Amounts that the scheduler takes from the pod's own list where it has one. */
const AT_POD_LEVEL = /^(?:cpu|memory|hugepages-.*)$/;

/**
 * What the pod takes of its node (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers):
 * the larger of what its containers and its sidecars request together and of what an init container does beside the sidecars
 * before it; the pod's own requests in place of that where it states them; and its overhead.
 * @param inForce what is set aside for each container by name: both count while a resize is on its way
 * @param isRefused the node will never have what a resize asks for
 */
export function podRequests(
  spec: PlacedSpec,
  inForce: ReadonlyMap<string, Amounts> = new Map(),
  isRefused = false,
): Amounts {
  const requestsOf = ({ name, resources }: PlacedSpec["containers"][number]): Amounts => {
    const aside = inForce.get(name);
    return isRefused && aside !== undefined ? aside : largest(resources.requests, aside ?? {});
  };
  let running = spec.containers.reduce<Amounts>((sum, each) => added(sum, requestsOf(each)), {});
  let [sidecars, starting]: [Amounts, Amounts] = [{}, {}];
  for (const initContainer of spec.initContainers) {
    const requests = requestsOf(initContainer);
    if (staysOn(initContainer)) {
      running = added(running, requests);
      sidecars = added(sidecars, requests);
      starting = largest(starting, sidecars);
    } else starting = largest(starting, added(sidecars, requests));
  }
  const ofPod = Object.entries(spec.resources.requests).filter(([name]) => AT_POD_LEVEL.test(name));
  return added({ ...largest(running, starting), ...Object.fromEntries(ofPod) }, spec.overhead);
}

function added(one: Amounts, other: Amounts): Amounts {
  const sum = { ...one };
  for (const [name, amount] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + amount;
  return sum;
}

function largest(one: Amounts, other: Amounts): Amounts {
  const most = { ...one };
  for (const [name, amount] of Object.entries(other)) most[name] = Math.max(most[name] ?? 0, amount);
  return most;
}
