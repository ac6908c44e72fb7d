import type { Labels } from "./api.ts";

/** What scrapes, agents and collectors call the namespace, the name and the Deployment of a pod, most usual first. */
const NAMESPACES = [
  "namespace",
  "k8s_namespace_name",
  "kubernetes_namespace",
  "namespace_name",
  "kube_namespace",
];
const PODS = ["pod", "k8s_pod_name", "kubernetes_pod_name", "pod_name"];
const DEPLOYMENTS = ["k8s_deployment_name", "deployment"];

export const POD_LABELS: readonly string[] = [...NAMESPACES, ...PODS, ...DEPLOYMENTS];

const firstOf = (labels: Labels, names: readonly string[]): string | undefined =>
  names.map((name) => labels[name]).find((value) => value !== undefined && value !== "");

export const podOf = (labels: Labels): string | undefined => firstOf(labels, PODS);
export const namespaceOfPod = (labels: Labels): string | undefined => firstOf(labels, NAMESPACES);

/** Characters at the end of a Deployment's pod: a dash and five of them, behind the hash of its ReplicaSet. */
const POD_SUFFIX = 6;

/** The Deployment of a pod by its name; undefined where it is a pod of something else. */
export function deploymentOfPod(pod: string): string | undefined {
  if (pod.at(-POD_SUFFIX) !== "-") return undefined;
  const ofReplicaSet = pod.slice(0, -POD_SUFFIX);
  const name = ofReplicaSet.slice(0, Math.max(0, ofReplicaSet.lastIndexOf("-")));
  return name === "" ? undefined : name;
}

/** The Deployment that a series' pod belongs to, where its labels name it or the pod's name does. */
export const workloadOfPod = (labels: Labels): string | undefined =>
  firstOf(labels, DEPLOYMENTS) ?? deploymentOfPod(podOf(labels) ?? "");
