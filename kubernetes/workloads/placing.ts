import type { Amounts, Placing, PodRule, SpreadRule } from "@tradewind/core/contract/placing.ts";
import type { NodeCapacity } from "@tradewind/core/contract/workload.ts";
import type { Node } from "../objects/capacity.ts";
import { selects } from "../objects/label-selector.ts";
import type { LabelSelector } from "../objects/label-selector.ts";
import type { PlacedPod } from "../objects/pod.ts";
import type { PodTerm } from "../objects/pod-spec.ts";

const FINISHED = new Set(["Succeeded", "Failed"]);

/** Pods that hold a place on a node. */
export const onNodes = (pods: readonly PlacedPod[]): PlacedPod[] =>
  pods.filter(({ node, phase }) => node !== undefined && !FINISHED.has(phase));

/** The next pod of a workload. */
export interface NextPod {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly placed: Pick<PlacedPod, "requests" | "rules">;
}

/** What pods that lie on nodes mean for those to come. */
export class Neighbours {
  private readonly pods: readonly PlacedPod[];
  /** What pods keep away, and from where; each thing once. */
  private readonly kept = new Map<
    string,
    { readonly term: PodTerm; readonly namespace: string; readonly pods: PlacedPod[] }
  >();

  /** @param pods see {@link onNodes} */
  constructor(pods: readonly PlacedPod[]) {
    this.pods = pods;
    for (const pod of pods)
      for (const term of pod.rules.apart ?? []) {
        const key = JSON.stringify([pod.namespace, term]);
        const known = this.kept.get(key);
        if (known === undefined) this.kept.set(key, { term, namespace: pod.namespace, pods: [pod] });
        else known.pods.push(pod);
      }
  }

  /** What the next pod of a workload asks for; undefined where another scheduler chooses its node. */
  placingOf(next: NextPod): Placing | undefined {
    const { requests, rules } = next.placed;
    if (rules.isElsewhere === true) return undefined;
    const together = this.together(next);
    const apart = [...this.apart(next), ...this.portsOf(rules.hostPorts ?? [])];
    const spread = this.spread(next);
    return {
      requests,
      ...(rules.nodeLabels && { labels: { ...rules.nodeLabels } }),
      ...(rules.nodeTerms && { terms: [...rules.nodeTerms] }),
      ...(rules.tolerations && { tolerations: [...rules.tolerations] }),
      ...(together.length > 0 && { together }),
      ...(apart.length > 0 && { apart }),
      ...(spread.length > 0 && { spread }),
    };
  }

  /** A pod counts where it meets all terms. */
  private together({ labels, namespace, placed }: NextPod): PodRule[] {
    const terms = (placed.rules.together ?? []).filter(isRead);
    const meets = (pod: Pick<PlacedPod, "labels" | "namespace">): boolean =>
      terms.every((term) => isMeant(term, namespace, labels, pod));
    const pods = byNode(terms.length === 0 ? [] : this.pods.filter(meets));
    const countsItself = meets({ labels, namespace });
    return terms.map(({ topologyKey }) => ({ topologyKey, pods, countsItself }));
  }

  private apart({ labels, namespace, placed }: NextPod): PodRule[] {
    const own = (placed.rules.apart ?? []).filter(isRead).map((term): PodRule => ({
      topologyKey: term.topologyKey,
      pods: byNode(this.pods.filter((pod) => isMeant(term, namespace, labels, pod))),
      countsItself: isMeant(term, namespace, labels, { labels, namespace }),
    }));
    const others = [...this.kept.values()].flatMap(({ namespace: place, pods, term }): PodRule[] =>
      isRead(term) && isMeant(term, place, pods[0]?.labels ?? {}, { labels, namespace })
        ? [{ topologyKey: term.topologyKey, pods: byNode(pods), countsItself: false }]
        : [],
    );
    return [...own, ...others];
  }

  private portsOf(ports: readonly string[]): PodRule[] {
    if (ports.length === 0) return [];
    const bound = this.pods.filter(({ rules }) => rules.hostPorts?.some((port) => ports.includes(port)));
    return [{ pods: byNode(bound), countsItself: true }];
  }

  private spread({ labels, namespace, placed }: NextPod): SpreadRule[] {
    return (placed.rules.spread ?? []).map((constraint): SpreadRule => {
      const { labelSelector, matchLabelKeys, maxSkew, minDomains, topologyKey } = constraint;
      const isCounted = (pod: Pick<PlacedPod, "labels" | "namespace">): boolean =>
        pod.namespace === namespace &&
        labelSelector !== undefined &&
        labelSelector !== null &&
        selects(withKeys(labelSelector, matchLabelKeys, [], labels), pod.labels);
      return {
        topologyKey,
        pods: byNode(this.pods.filter((pod) => !pod.isDeleting && isCounted(pod))),
        countsItself: isCounted({ labels, namespace }),
        maxSkew,
        minDomains: minDomains ?? 1,
        honorsLabels: constraint.nodeAffinityPolicy !== "Ignore",
        honorsTaints: constraint.nodeTaintsPolicy === "Honor",
      };
    });
  }
}

/** Labels of namespaces are not read: what a rule means by them is not known, and it holds nothing up. */
const isRead = ({ namespaceChoice }: PodTerm): boolean => namespaceChoice !== "labels";

/** Whether a term of a pod in this namespace and with these labels means the other pod. */
function isMeant(
  { matchLabelKeys, mismatchLabelKeys, namespaceChoice, namespaces, selector }: PodTerm,
  namespace: string,
  labels: NextPod["labels"],
  other: Pick<PlacedPod, "labels" | "namespace">,
): boolean {
  const isNamed =
    namespaceChoice === "all" ||
    (namespaces.length > 0 ? namespaces.includes(other.namespace) : other.namespace === namespace);
  return (
    isNamed &&
    selector !== undefined &&
    selects(withKeys(selector, matchLabelKeys, mismatchLabelKeys, labels), other.labels)
  );
}

/** The selector with what it asks of labels by their names alone, as the pod itself has them. */
function withKeys(
  selector: LabelSelector,
  same: readonly string[],
  different: readonly string[],
  labels: NextPod["labels"],
): LabelSelector {
  const asked = (keys: readonly string[], operator: string): LabelSelector["matchExpressions"] =>
    keys.flatMap((key) => {
      const value = labels[key];
      return value === undefined ? [] : [{ key, operator, values: [value] }];
    });
  const more = [...asked(same, "In"), ...asked(different, "NotIn")];
  return more.length === 0
    ? selector
    : { ...selector, matchExpressions: [...selector.matchExpressions, ...more] };
}

function byNode(pods: readonly PlacedPod[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { node = "" } of pods) counts.set(node, (counts.get(node) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/**
 * The nodes with what pods take of them, and with those of their labels and resources that workloads ask for.
 * @param bound pods on nodes
 * @param isAll in any namespace; where not all may be seen, how many slots of a node are taken is not known
 */
export function placedNodes(
  nodes: readonly Node[],
  bound: readonly PlacedPod[],
  isAll: boolean,
  placings: readonly Placing[],
): NodeCapacity[] {
  const keys = new Set(placings.flatMap(labelsAsked));
  const resources = new Set(["cpu", "memory", ...placings.flatMap(({ requests }) => Object.keys(requests))]);
  const taken = new Map<string, Amounts>();
  for (const { node = "", requests } of bound) {
    const here = taken.get(node) ?? {};
    if (isAll) here["pods"] = (here["pods"] ?? 0) + 1;
    for (const [name, amount] of Object.entries(requests))
      if (resources.has(name)) here[name] = (here[name] ?? 0) + amount;
    taken.set(node, here);
  }
  return nodes.map(({ cpuCores, instanceType, memoryBytes, pods, ...node }) => {
    const labels = Object.fromEntries(Object.entries(node.labels).filter(([key]) => keys.has(key)));
    const others = Object.fromEntries(Object.entries(node.others).filter(([name]) => resources.has(name)));
    return {
      name: node.name,
      schedulable: node.schedulable,
      ...(cpuCores !== undefined && { cpuCores }),
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(pods !== undefined && { pods }),
      ...(instanceType !== undefined && { instanceType }),
      ...(Object.keys(others).length > 0 && { others }),
      taken: taken.get(node.name) ?? (isAll ? { pods: 0 } : {}),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(node.taints.length > 0 && { taints: node.taints }),
    };
  });
}

const labelsAsked = ({
  apart = [],
  labels = {},
  spread = [],
  terms = [],
  together = [],
}: Placing): string[] => [
  ...Object.keys(labels),
  ...terms.flatMap((term) => term.labels.map(({ key }) => key)),
  ...[...together, ...apart, ...spread].flatMap(({ topologyKey }) => topologyKey ?? []),
];
