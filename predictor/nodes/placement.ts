import type {
  NodeGroup,
  NodeTerm,
  Placing,
  PodRule,
  Requirement,
  Taint,
  Toleration,
} from "@tradewind/core/contract/placing.ts";
import type { NodeCapacity } from "@tradewind/core/contract/workload.ts";

/** Why a node does not take the next pod of a workload. */
export type Refusal = "not-ready" | "taint" | "labels" | "room" | "together" | "apart" | "spread";

/** A pod of another workload, with what it takes of its node. */
export interface HeldRoom {
  /** `shop/cart`. */
  readonly workload: string;
  readonly node: string;
  readonly requests: Placing["requests"];
}

/** Room on one node that others would have to leave for the next pod. */
export interface RoomToMake {
  readonly node: string;
  /** Pods that would have to go, by workload. */
  readonly pods: ReadonlyMap<string, number>;
}

/** Room for rounding of sums of fractions. */
const SLACK = 1e-9;
const BLOCKING = new Set(["NoSchedule", "NoExecute"]);
const WHOLE = /^[+-]?\d{1,18}$/;

type Left = Record<string, number>;

/** How much of what its pods ask for a node has left; Infinity where it or what is taken is not known. */
function leftOf({ cpuCores, memoryBytes, others = {}, pods, taken }: NodeCapacity): Left {
  const left: Left = { ...others };
  if (cpuCores !== undefined) left["cpu"] = cpuCores;
  if (memoryBytes !== undefined) left["memory"] = memoryBytes;
  if (pods !== undefined) left["pods"] = pods;
  for (const [name, amount] of Object.entries(taken ?? {}))
    if (left[name] !== undefined) left[name] -= amount;
  return left;
}

/** Resources that a node is taken not to have where it does not name them. */
const isNamed = (name: string): boolean => !["cpu", "memory", "pods", "ephemeral-storage"].includes(name);

/** How many such pods fit what is left. */
function podsIn(left: Left, requests: Placing["requests"]): number {
  let fit = Infinity;
  for (const [name, amount] of [...Object.entries(requests), ["pods", 1] as const]) {
    if (amount <= 0) continue;
    const here = left[name] ?? (isNamed(name) ? 0 : Infinity);
    fit = Math.min(fit, Math.floor(here / amount + SLACK));
  }
  return Math.max(0, fit);
}

/**
 * Where the next pod of a workload may go, as the filters of Kubernetes' scheduler decide
 * (https://kubernetes.io/docs/reference/scheduling/config/#scheduling-plugins): taints, node selectors and affinity, resources, host ports,
 * affinity between pods and topology spread. Volumes are not looked at, and no pod gives way to another.
 */
export class Placement {
  private readonly nodes: readonly NodeCapacity[];

  constructor(nodes: readonly NodeCapacity[]) {
    this.nodes = nodes;
  }

  /** Why each node does not take the next pod, by its name; undefined for one that does. */
  refusals(placing: Placing): ReadonlyMap<string, Refusal | undefined> {
    const places = new Places(this.nodes, placing);
    return new Map(
      this.nodes.map((node) => [
        node.name,
        staticRefusal(node, placing) ??
          (podsIn(leftOf(node), placing.requests) === 0 ? "room" : places.refusal(node)),
      ]),
    );
  }

  /**
   * The fewest pods that would have to go for the next pod of the workload to fit some node, those that hold most of what is short first.
   * @param held what pods of other workloads take
   * @returns undefined where it is not for want of room, or no such pods hold enough
   */
  roomToMake(placing: Placing, held: readonly HeldRoom[]): RoomToMake | undefined {
    const places = new Places(this.nodes, placing);
    const byNode = Map.groupBy(held, ({ node }) => node);
    const ways = this.nodes.flatMap((node): RoomToMake[] => {
      if (staticRefusal(node, placing) !== undefined || places.refusal(node) !== undefined) return [];
      const pods = podsToGo(leftOf(node), placing, byNode.get(node.name) ?? []);
      return pods === undefined ? [] : [{ node: node.name, pods }];
    });
    const count = ({ pods }: RoomToMake): number => [...pods.values()].reduce((sum, each) => sum + each, 0);
    return ways.sort((a, b) => count(a) - count(b) || (a.node < b.node ? -1 : 1))[0];
  }

  /** How many pods more of the workload nodes would take one after the other, if nothing else came. @param most counts no further */
  fits(placing: Placing, most: number): number {
    const open = this.nodes.filter((node) => staticRefusal(node, placing) === undefined);
    const rooms = open.map((node) => podsIn(leftOf(node), placing.requests));
    const places = new Places(this.nodes, placing);
    if (!places.isBinding)
      return Math.min(
        most,
        rooms.reduce((sum, pods) => sum + pods, 0),
      );
    // One node after the other: thousands may be open, and each pod changes which are.
    let [fit, passed, at] = [0, 0, 0];
    while (fit < most && passed < open.length) {
      const node = open[at] as NodeCapacity;
      if ((rooms[at] ?? 0) > 0 && places.refusal(node) === undefined) {
        rooms[at] = (rooms[at] ?? 0) - 1;
        places.add(node);
        fit += 1;
        passed = 0;
      } else passed += 1;
      at = (at + 1) % open.length;
    }
    return fit;
  }
}

/** Which pods have to leave a node for the next one; undefined where all of them hold too little. */
function podsToGo(
  left: Left,
  { requests }: Placing,
  held: readonly HeldRoom[],
): ReadonlyMap<string, number> | undefined {
  const short =
    Object.keys(requests).find((name) => (left[name] ?? Infinity) < (requests[name] ?? 0)) ?? "cpu";
  const gone = new Map<string, number>();
  const largest = held.toSorted((a, b) => (b.requests[short] ?? 0) - (a.requests[short] ?? 0));
  for (const pod of largest) {
    if (podsIn(left, requests) > 0) break;
    for (const [name, amount] of [...Object.entries(pod.requests), ["pods", 1] as const])
      if (left[name] !== undefined) left[name] += amount;
    gone.set(pod.workload, (gone.get(pod.workload) ?? 0) + 1);
  }
  return podsIn(left, requests) > 0 ? gone : undefined;
}

/** How many pods more of the workload a node has slots, memory and all else for but CPU. */
export const podsWithoutCpu = (
  node: NodeCapacity,
  { requests: { cpu: _cpu, ...requests } }: Placing,
): number => podsIn(leftOf(node), requests);

/** How many pods more of the workload the CPU of nodes is enough for. */
export const podsByCpu = (nodes: readonly NodeCapacity[], { requests: { cpu = 0 } }: Placing): number =>
  nodes.reduce((sum, node) => sum + podsIn({ ...leftOf(node), pods: Infinity }, { cpu }), 0);

/** Labels that the platform sets on each node: a group need not name them. */
const SET_BY_PLATFORM = /(?:^|\.)(?:kubernetes\.io|k8s\.aws|karpenter\.sh|k8s\.io)\//;

/** Whether a node of the group would take pods of the workload. */
export function addsFor(group: NodeGroup, placing: Placing): boolean {
  const left = Object.entries(group.left);
  if (left.some(([name, amount]) => amount <= 0 || amount < (placing.requests[name] ?? 0))) return false;
  if (group.node !== undefined && podsIn(group.node, placing.requests) === 0) return false;
  if (!toleratesAll(group.taints, placing.tolerations)) return false;
  const mayBe = ({ key, operator, values }: Requirement): boolean => {
    const set = group.labels[key];
    if (set !== undefined) return meets({ key, operator, values }, set);
    const asked = group.requirements.filter((each) => each.key === key);
    if (asked.length === 0) return SET_BY_PLATFORM.test(key) || meets({ key, operator, values }, undefined);
    return asked.every(
      (each) =>
        each.operator !== "In" || each.values.some((value) => meets({ key, operator, values }, value)),
    );
  };
  const labels = Object.entries(placing.labels ?? {});
  return (
    labels.every(([key, value]) => mayBe({ key, operator: "In", values: [value] })) &&
    (placing.terms === undefined || placing.terms.some((term) => term.labels.every(mayBe)))
  );
}

/** What no number of pods changes: whether the node is one for pods of the workload at all. */
export function staticRefusal(
  node: Pick<NodeCapacity, "labels" | "name" | "schedulable" | "taints">,
  placing: Placing,
): Refusal | undefined {
  // Taints say why a node takes no pods, so that those who tolerate it are known.
  if (node.taints === undefined && !node.schedulable) return "not-ready";
  if (!toleratesAll(node.taints ?? [], placing.tolerations)) return "taint";
  return matchesLabels(node, placing) ? undefined : "labels";
}

export const toleratesAll = (taints: readonly Taint[], tolerations: readonly Toleration[] = []): boolean =>
  taints.every(
    (taint) => !BLOCKING.has(taint.effect) || tolerations.some((toleration) => tolerates(toleration, taint)),
  );

function tolerates({ effect, key, operator = "Equal", value = "" }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== "" && effect !== taint.effect) return false;
  if (key !== undefined && key !== "" && key !== taint.key) return false;
  return (
    operator === "Exists" || ((operator === "Equal" || operator === "") && value === (taint.value ?? ""))
  );
}

type Labelled = Pick<NodeCapacity, "labels" | "name">;

function matchesLabels({ labels = {}, name }: Labelled, placing: Placing): boolean {
  const asked = Object.entries(placing.labels ?? {});
  if (!asked.every(([key, value]) => labels[key] === value)) return false;
  return placing.terms === undefined || placing.terms.some((term) => meetsTerm(term, labels, name));
}

/** A term that asks for nothing is met by no node. */
function meetsTerm(
  { labels: asked, names }: NodeTerm,
  labels: Readonly<Record<string, string>>,
  name: string,
): boolean {
  if (asked.length + names.length === 0) return false;
  return asked.every((each) => meets(each, labels[each.key])) && names.every((each) => meets(each, name));
}

/** Whether a label meets a requirement of a node selector. */
export function meets({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt": {
      const [limit = ""] = values;
      if (value === undefined || !WHOLE.test(value) || !WHOLE.test(limit)) return false;
      return operator === "Gt" ? Number(value) > Number(limit) : Number(value) < Number(limit);
    }
    default:
      return false;
  }
}

/** Pods that a rule counts, by the place that they lie in. */
interface Counted<Rule extends PodRule> {
  readonly rule: Rule;
  readonly counts: Map<string, number>;
}

/** Name of the place of a node under a rule; undefined where it is in none. */
const placeOf = ({ labels = {}, name }: Labelled, { topologyKey }: PodRule): string | undefined =>
  topologyKey === undefined ? name : labels[topologyKey];

function countAt(node: Labelled, { counts, rule }: Counted<PodRule>): number {
  const place = placeOf(node, rule);
  return place === undefined ? 0 : (counts.get(place) ?? 0);
}

/** The rules of a workload that count pods, with what they count. */
class Places {
  private readonly placing: Placing;
  private readonly together: readonly Counted<PodRule>[];
  private readonly apart: readonly Counted<PodRule>[];
  private readonly spread: readonly Counted<NonNullable<Placing["spread"]>[number]>[];

  constructor(nodes: readonly NodeCapacity[], placing: Placing) {
    this.placing = placing;
    const byName = new Map(nodes.map((node) => [node.name, node]));
    const counted = <Rule extends PodRule>(rules: readonly Rule[] = []): Counted<Rule>[] =>
      rules.map((rule) => {
        const counts = new Map<string, number>();
        for (const [name, pods] of Object.entries(rule.pods)) {
          const node = byName.get(name);
          const place = node && placeOf(node, rule);
          if (place !== undefined) counts.set(place, (counts.get(place) ?? 0) + pods);
        }
        return { rule, counts };
      });
    this.together = counted(placing.together);
    this.apart = counted(placing.apart);
    this.spread = (placing.spread ?? []).map((rule) => {
      const counts = new Map<string, number>();
      for (const node of nodes) {
        const place = placeOf(node, rule);
        if (place === undefined || !this.isPlace(node, rule)) continue;
        counts.set(place, (counts.get(place) ?? 0) + (rule.pods[node.name] ?? 0));
      }
      return { rule, counts };
    });
  }

  /** There are rules that count pods. */
  get isBinding(): boolean {
    return this.together.length + this.apart.length + this.spread.length > 0;
  }

  refusal(node: NodeCapacity): Refusal | undefined {
    if (!this.isTogether(node)) return "together";
    if (this.apart.some((each) => countAt(node, each) > 0)) return "apart";
    return this.spread.every((each) => isEven(node, each)) ? undefined : "spread";
  }

  /** The node has taken the next pod. */
  add(node: NodeCapacity): void {
    for (const { counts, rule } of [...this.together, ...this.apart, ...this.spread]) {
      const place = placeOf(node, rule);
      if (rule.countsItself && place !== undefined) counts.set(place, (counts.get(place) ?? 0) + 1);
    }
  }

  /** The first pod of those that are to be together may go anywhere that has a place. */
  private isTogether(node: NodeCapacity): boolean {
    if (this.together.some(({ rule }) => placeOf(node, rule) === undefined)) return false;
    if (this.together.every((each) => countAt(node, each) > 0)) return true;
    return this.together.every(({ counts, rule }) => counts.size === 0 && rule.countsItself);
  }

  /** Places have the labels of all rules. */
  private isPlace(node: NodeCapacity, rule: NonNullable<Placing["spread"]>[number]): boolean {
    return (
      (this.placing.spread ?? []).every((each) => placeOf(node, each) !== undefined) &&
      (!rule.honorsLabels || matchesLabels(node, this.placing)) &&
      (!rule.honorsTaints || toleratesAll(node.taints ?? [], this.placing.tolerations))
    );
  }
}

function isEven(
  node: NodeCapacity,
  { counts, rule }: Counted<NonNullable<Placing["spread"]>[number]>,
): boolean {
  if (placeOf(node, rule) === undefined) return false;
  const { countsItself, maxSkew, minDomains = 1 } = rule;
  const fewest = counts.size < minDomains ? 0 : Math.min(...counts.values());
  return countAt(node, { counts, rule }) + (countsItself ? 1 : 0) - fewest <= maxSkew;
}
