import { RESOURCES } from "./resources.ts";
import type { Resource } from "./resources.ts";
import { AUTOSCALER_STATUS } from "../objects/node-group.ts";

/** The Lease that the exporters' leader holds, in the namespace that Tradewind runs in, unless they are given another name. */
export const LEASE_NAME = "tradewind-exporter";

/**
 * Service accounts: the node agent's, the predictor's, and the scaler's, which is the exporter's. Predictor and exporter run in
 * one pod, yet the predictor parses what strangers send, so it only reads (docs/decisions/0006-two-accounts-in-a-pod.md).
 */
export type Account = "agent" | "predictor" | "scaler";

/** Parts that can be switched off; what a part needs is granted only with it. */
export const BLOCKS = [
  "podNames",
  "workloads",
  "nodes",
  "application",
  "leader",
  "events",
  "vpa",
  "inPlaceResize",
] as const;
export type Block = (typeof BLOCKS)[number];

/**
 * Where a right is needed: in the `watched` namespaces (a Role in each, or a ClusterRole when all are watched), in the
 * namespace that Tradewind itself runs in (`own`), or in the `cluster`.
 */
export type Scope = "watched" | "own" | "cluster";

export interface Permission {
  readonly account: Account;
  readonly block: Block;
  readonly scope: Scope;
  readonly apiGroup: string;
  /** With its subresource, as RBAC writes it: `pods/resize`. */
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
  /** What it is for, in the words of docs/kubernetes.md. */
  readonly why: string;
}

const READ = ["list", "watch"] as const;

const permission = (
  account: Account,
  block: Block,
  scope: Scope,
  resource: Resource,
  rest: Pick<Permission, "verbs" | "why"> & { subresource?: string; resourceNames?: readonly string[] },
): Permission => ({
  account,
  block,
  scope,
  apiGroup: resource.group,
  resource: rest.subresource === undefined ? resource.plural : `${resource.plural}/${rest.subresource}`,
  verbs: rest.verbs,
  ...(rest.resourceNames !== undefined && { resourceNames: rest.resourceNames }),
  why: rest.why,
});

const read = (account: Account, block: Block, scope: Scope, resource: Resource, why: string): Permission =>
  permission(account, block, scope, resource, { verbs: READ, why });

/** What it takes to know which pods a service has. */
const workloads = (account: Account): Permission[] => [
  read(
    account,
    "workloads",
    "watched",
    RESOURCES.deployments,
    "workloads, their size and their service's name",
  ),
  read(
    account,
    "workloads",
    "watched",
    RESOURCES.statefulSets,
    "workloads, their size and their service's name",
  ),
  read(
    account,
    "workloads",
    "watched",
    RESOURCES.rollouts,
    "the same of Argo Rollouts, where they are installed",
  ),
  read(
    account,
    "workloads",
    "watched",
    RESOURCES.replicaSets,
    "which Deployment a pod belongs to (metadata only)",
  ),
  read(account, "workloads", "watched", RESOURCES.pods, "readiness, requests, limits, container ids, nodes"),
  read(
    account,
    "workloads",
    "watched",
    RESOURCES.horizontalPodAutoscalers,
    "bounds of replicas, and whether the CPU request is an HPA's scale point",
  ),
];

/**
 * Every right that Tradewind asks of a cluster, once. The chart's roles are held against it by a test, and so is every call
 * that the tests see. `nodes/proxy` is never among them: it would allow to run commands in any pod.
 */
export const PERMISSIONS: readonly Permission[] = [
  read(
    "agent",
    "podNames",
    "cluster",
    RESOURCES.pods,
    "names of the node's pods, by which the scaler decides without predictors",
  ),
  ...workloads("predictor"),
  read(
    "predictor",
    "workloads",
    "watched",
    RESOURCES.scaledObjects,
    "bounds of replicas, zero included, and whether KEDA asks",
  ),
  read("predictor", "workloads", "watched", RESOURCES.resourceQuotas, "how much the namespace has left"),
  read("predictor", "workloads", "watched", RESOURCES.limitRanges, "how large its containers may be"),
  read(
    "predictor",
    "workloads",
    "watched",
    RESOURCES.podDisruptionBudgets,
    "how many pods of a service may be taken down at once",
  ),
  read("predictor", "nodes", "cluster", RESOURCES.nodes, "what the nodes have, and which pods they take"),
  read("predictor", "nodes", "cluster", RESOURCES.pods, "what pods of all namespaces take of the nodes"),
  read("predictor", "nodes", "cluster", RESOURCES.nodePools, "which nodes Karpenter can add"),
  permission("predictor", "nodes", "cluster", RESOURCES.configMaps, {
    verbs: READ,
    resourceNames: [AUTOSCALER_STATUS.name],
    why: "how many nodes the Cluster Autoscaler can add",
  }),
  read("predictor", "application", "watched", RESOURCES.applications, "objective, services and bounds"),
  ...workloads("scaler"),
  read(
    "scaler",
    "application",
    "watched",
    RESOURCES.applications,
    "names of services, and the status so far",
  ),
  permission("scaler", "application", "watched", RESOURCES.applications, {
    subresource: "status",
    verbs: ["patch"],
    why: "what is predicted, measured and recommended",
  }),
  permission("scaler", "leader", "own", RESOURCES.leases, {
    verbs: ["create"],
    why: "one scaler writes, the others stand by (create cannot be bound to a name)",
  }),
  permission("scaler", "leader", "own", RESOURCES.leases, {
    verbs: ["get", "update"],
    resourceNames: [LEASE_NAME],
    why: "one scaler writes, the others stand by",
  }),
  permission("scaler", "events", "watched", RESOURCES.events, {
    verbs: ["create", "patch"],
    why: "changes that matter, shown by kubectl describe",
  }),
  read(
    "scaler",
    "events",
    "watched",
    RESOURCES.scaledObjects,
    "whether the HPA that KEDA made still reads what is recommended",
  ),
  read(
    "scaler",
    "vpa",
    "watched",
    RESOURCES.verticalPodAutoscalers,
    "VPAs that name the recommender `tradewind`",
  ),
  permission("scaler", "vpa", "watched", RESOURCES.verticalPodAutoscalers, {
    subresource: "status",
    verbs: ["patch"],
    why: "the recommendation that VPA's updater and admission controller act on",
  }),
  read(
    "scaler",
    "inPlaceResize",
    "watched",
    RESOURCES.verticalPodAutoscalers,
    "which pods a VPA takes care of already; those are left alone",
  ),
  permission("scaler", "inPlaceResize", "watched", RESOURCES.pods, {
    subresource: "resize",
    verbs: ["patch"],
    why: "requests and limits of running pods, without a restart",
  }),
];

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/**
 * The rules an account needs in one scope for some of the parts, one rule per line of the table.
 * @public for tests that grant a real API server's accounts what the chart does
 */
export function rulesFor(account: Account, scope: Scope, blocks: readonly Block[]): PolicyRule[] {
  return PERMISSIONS.filter(
    (each) => each.account === account && each.scope === scope && blocks.includes(each.block),
  ).map((each) => ruleOf(each));
}

function ruleOf({ apiGroup, resource, resourceNames, verbs }: Permission): PolicyRule {
  return {
    apiGroups: [apiGroup],
    resources: [resource],
    verbs,
    ...(resourceNames !== undefined && { resourceNames }),
  };
}
