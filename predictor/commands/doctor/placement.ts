import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { Node } from "@tradewind/kubernetes/objects/capacity.ts";
import { Owned } from "@tradewind/kubernetes/objects/metadata.ts";
import { NodePool } from "@tradewind/kubernetes/objects/node-group.ts";
import { BoundPod, Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { scalable, withTemplates } from "@tradewind/kubernetes/objects/scalable.ts";
import { workloadList } from "@tradewind/kubernetes/workloads/workload-list.ts";
import { addsFor, Placement } from "../../nodes/placement.ts";
import type { HeldRoom, Refusal, RoomToMake } from "../../nodes/placement.ts";
import type { Finding } from "../../sources/source.ts";
import { listed } from "./listed.ts";

const SUBJECT = "room on nodes";
/** Causes that are named one by one, and workloads of one cause that are. */
const MOST_NAMED = 20;
const MOST_TOGETHER = 5;

/** Pods more of a workload that are told apart from any number. */
const PODS_COUNTED = 10;

const WORDS: Readonly<Record<Refusal, string>> = {
  "not-ready": "not ready",
  taint: "have a taint that it does not tolerate",
  labels: "lack labels that it asks for",
  room: "have too little CPU, memory or slots left",
  together: "have none of the pods that it is to be with",
  apart: "have pods that it is to be apart from",
  spread: "have too many of its pods for its topology spread",
};

/**
 * Whether some node takes the next pod of each workload. Nothing is said where nodes or the pods of all namespaces may not be read: the rights
 * are examined by themselves.
 * @param places namespaces; undefined for all at once
 */
export async function examinePlacement(
  client: ApiClient,
  places: readonly (string | undefined)[],
): Promise<Finding[]> {
  try {
    return placementFindings(await readPlaces(client, places));
  } catch (error) {
    if (error instanceof ApiError && (error.isMissing || error.isForbidden)) return [];
    throw error;
  }
}

async function readPlaces(client: ApiClient, places: readonly (string | undefined)[]): Promise<WorkloadList> {
  const nodes = await listed(client, RESOURCES.nodes, undefined, Node);
  const boundPods = await listed(client, RESOURCES.pods, undefined, BoundPod);
  const each = async <Item>(read: (namespace: string | undefined) => Promise<Item[]>): Promise<Item[]> =>
    (await Promise.all(places.map(read))).flat();
  const { deployments, pods, replicaSets, rollouts, statefulSets } = RESOURCES;
  const scalables = [
    ...(await each(async (place) => listed(client, deployments, place, scalable("Deployment")))),
    ...(await each(async (place) => listed(client, statefulSets, place, scalable("StatefulSet")))),
    // Not every cluster has Argo Rollouts.
    ...(await each(async (place) => listed(client, rollouts, place, scalable("Rollout")).catch(() => []))),
  ];
  return workloadList(
    {
      scalables: withTemplates(scalables),
      replicaSets: await each(async (place) => listed(client, replicaSets, place, Owned)),
      pods: await each(async (place) => listed(client, pods, place, Pod)),
      nodes,
      boundPods,
      nodeGroups: await listed(client, RESOURCES.nodePools, undefined, NodePool).catch(() => []),
      horizontalPodAutoscalers: undefined,
      scaledObjects: [],
      quotas: undefined,
      budgets: undefined,
    },
    () => undefined,
    0,
  );
}

/** `1 pod of 'shop/cart' would have to leave n1`. */
function inWords({ node, pods }: RoomToMake): string {
  const names = [...pods].map(
    ([workload, count]) => `${count} ${count === 1 ? "pod" : "pods"} of '${workload}'`,
  );
  return `${names.join(" and ")} would have to leave ${node}`;
}

/** A workload whose next pod no node takes. */
interface StuckWorkload {
  readonly name: string;
  readonly why: string;
}

/** Workloads that one cause keeps from nodes are named together. */
function stuckFindings(stuck: readonly StuckWorkload[]): Finding[] {
  return [...Map.groupBy(stuck, ({ why }) => why)].slice(0, MOST_NAMED).map(([why, all]): Finding => {
    const names = all.slice(0, MOST_TOGETHER).map(({ name }) => `'${name}'`);
    const others = all.length - names.length;
    return {
      subject: SUBJECT,
      level: "warning",
      message: `no node takes another pod of ${names.join(", ")}${others > 0 ? ` and ${others} more` : ""}: ${why}`,
      remedy:
        "add nodes, lower requests, or change what its pods ask of nodes; no more replicas are planned until then",
    };
  });
}

function placementFindings({ nodeGroups = [], nodes = [], workloads }: WorkloadList): Finding[] {
  if (nodes.length === 0 || workloads.length === 0) return [];
  const placement = new Placement(nodes);
  const held = workloads.flatMap(({ name, namespace, placing, pods }) =>
    pods.map(({ node }): HeldRoom => ({
      workload: `${namespace}/${name}`,
      node,
      requests: placing?.requests ?? {},
    })),
  );
  const stuck = workloads.flatMap(({ name, namespace, placing }): StuckWorkload[] => {
    if (placing === undefined || nodeGroups.some((group) => addsFor(group, placing))) return [];
    const refusals = [...placement.refusals(placing).values()];
    if (refusals.includes(undefined)) return [];
    const why = [...Map.groupBy(refusals, (each) => each)]
      .map(([refusal, all]) => `${all.length} ${refusal === undefined ? "" : WORDS[refusal]}`)
      .join(", ");
    const fullName = `${namespace}/${name}`;
    const way = placement.roomToMake(
      placing,
      held.filter(({ workload }) => workload !== fullName),
    );
    return [{ name: fullName, why: way === undefined ? why : `${why}; ${inWords(way)}` }];
  });
  if (stuck.length > 0) return stuckFindings(stuck);
  const scarce = workloads
    .flatMap(({ name, namespace, placing }) => {
      if (placing === undefined || nodeGroups.some((group) => addsFor(group, placing))) return [];
      return [{ name: `${namespace}/${name}`, more: placement.fits(placing, PODS_COUNTED) }];
    })
    .sort((a, b) => a.more - b.more)
    .find(({ more }) => more < PODS_COUNTED);
  const fewest = scarce === undefined ? "" : `; the fewest more: ${scarce.more} of '${scarce.name}'`;
  const message = `the next pod of each of ${workloads.length} workloads has a node, or one can be added${fewest}`;
  return [{ subject: SUBJECT, level: "ok", message }];
}
