/** Where objects of one kind live in the API. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Comes with a CustomResourceDefinition, so a cluster may lack it. Every API server has the other kinds. */
  readonly installable?: true;
}

const core = (plural: string, kind: string, namespaced = true): Resource => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});

const named = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
});

const custom = (group: string, version: string, plural: string, kind: string): Resource => ({
  ...named(group, version, plural, kind),
  installable: true,
});

/** Every kind that Tradewind reads or writes. */
export const RESOURCES = {
  /** Kinds of the core group, at `/api`, and of all others, at `/apis`. */
  coreGroup: { group: "", version: "", plural: "api", kind: "APIGroupDiscoveryList", namespaced: false },
  apiGroups: { group: "", version: "", plural: "apis", kind: "APIGroupDiscoveryList", namespaced: false },
  applications: custom("tradewind.dev", "v1alpha1", "applications", "Application"),
  configMaps: core("configmaps", "ConfigMap"),
  customResourceDefinitions: {
    ...named("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"),
    namespaced: false,
  },
  deployments: named("apps", "v1", "deployments", "Deployment"),
  events: named("events.k8s.io", "v1", "events", "Event"),
  gatewayRoutes: custom("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute"),
  horizontalPodAutoscalers: named("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
  ingresses: named("networking.k8s.io", "v1", "ingresses", "Ingress"),
  leases: named("coordination.k8s.io", "v1", "leases", "Lease"),
  limitRanges: core("limitranges", "LimitRange"),
  namespaces: core("namespaces", "Namespace", false),
  nodePools: { ...custom("karpenter.sh", "v1", "nodepools", "NodePool"), namespaced: false },
  nodes: core("nodes", "Node", false),
  podDisruptionBudgets: named("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
  openShiftRoutes: custom("route.openshift.io", "v1", "routes", "Route"),
  persistentVolumeClaims: core("persistentvolumeclaims", "PersistentVolumeClaim"),
  pods: core("pods", "Pod"),
  replicaSets: named("apps", "v1", "replicasets", "ReplicaSet"),
  pyrraObjectives: custom("pyrra.dev", "v1alpha1", "servicelevelobjectives", "ServiceLevelObjective"),
  resourceQuotas: core("resourcequotas", "ResourceQuota"),
  rollouts: custom("argoproj.io", "v1alpha1", "rollouts", "Rollout"),
  scaledObjects: custom("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"),
  selfSubjectAccessReviews: {
    ...named("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    namespaced: false,
  },
  services: core("services", "Service"),
  slothLevels: custom("sloth.slok.dev", "v1", "prometheusservicelevels", "PrometheusServiceLevel"),
  statefulSets: named("apps", "v1", "statefulsets", "StatefulSet"),
  verticalPodAutoscalers: custom(
    "autoscaling.k8s.io",
    "v1",
    "verticalpodautoscalers",
    "VerticalPodAutoscaler",
  ),
  virtualServices: custom("networking.istio.io", "v1", "virtualservices", "VirtualService"),
} as const satisfies Record<string, Resource>;

/** `apps/v1`, or `v1` for the core group. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === "" ? version : `${group}/${version}`;
}

/** A workload by its kind, with the API version where the kind is no usual one. */
interface OfKind {
  readonly kind: string;
  readonly apiVersion?: string | undefined;
}

/** The API version of a workload that can be scaled. */
export const apiVersionOfScalable = ({ apiVersion, kind }: OfKind): string =>
  apiVersion ?? apiVersionOf(kind === RESOURCES.rollouts.kind ? RESOURCES.rollouts : RESOURCES.deployments);

/** One object, or a collection when `name` is absent; across namespaces when `namespace` is absent too. */
export interface Place {
  readonly resource: Resource;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** The path of a place in the API, without a query. */
export function pathOf({ resource, namespace, name, subresource }: Place): string {
  const { group, version, plural, namespaced } = resource;
  const parts = [
    ...(group === "" ? ["api", version] : ["apis", group, version]).filter(() => version !== ""),
    ...(namespaced && namespace !== undefined ? ["namespaces", namespace] : []),
    plural,
    ...(name === undefined ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

/** `pods/resize 'cart-0' in namespace 'shop'`, for messages. */
export function describePlace({ resource, namespace, name, subresource }: Place): string {
  const what = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`;
  const which = name === undefined ? "" : ` '${name}'`;
  const where = resource.namespaced
    ? namespace === undefined
      ? " in all namespaces"
      : ` in namespace '${namespace}'`
    : "";
  return `${what}${which}${where}`;
}
