import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { ApiObject, Case } from "./clusters.ts";

const FOLDER = join(import.meta.dirname, "recorded");

const Text = z.record(z.string(), z.string()).optional();
const Metadata = z.object({ name: z.string(), namespace: z.string().optional(), labels: Text });

const Node = z.object({
  metadata: Metadata,
  spec: z.object({ unschedulable: z.boolean(), taints: z.array(z.unknown()) }).partial(),
  status: z
    .object({ allocatable: Text, conditions: z.array(z.unknown()) })
    .transform(({ allocatable, conditions }) => ({ allocatable, capacity: allocatable, conditions })),
});

const Pod = z.object({
  metadata: Metadata.extend({
    namespace: z.string(),
    ownerReferences: z.array(z.object({ kind: z.string(), name: z.string() })).default([]),
  }),
  spec: z
    .object({
      nodeName: z.string(),
      nodeSelector: z.unknown(),
      affinity: z.unknown(),
      topologySpreadConstraints: z.unknown(),
      tolerations: z.unknown(),
      initContainers: z.array(z.unknown()),
      containers: z.array(z.unknown()),
    })
    .partial(),
});
type Pod = z.infer<typeof Pod>;

const List = z.object({ items: z.array(z.looseObject({ kind: z.string() })) });

/** Owners of pods that stand on each node, or that the kubelet runs from files. */
const BY_NODE = new Set(["DaemonSet", "Node"]);

/**
 * Clusters as `kubectl get nodes,pods -A -o json` shows them: the next pod of each workload in them is a case, but of what runs on
 * each node.
 */
export function recordedCases(): Case[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return files
    .sort()
    .flatMap((file) => casesOf(file.replace(".json", ""), readFileSync(join(FOLDER, file), "utf8")));
}

function casesOf(cluster: string, text: string): Case[] {
  const { items } = List.parse(JSON.parse(text));
  const nodes = items.filter(({ kind }) => kind === "Node").map((item) => Node.parse(item));
  const pods = items.filter(({ kind }) => kind === "Pod").map((item) => Pod.parse(item));
  const bound = pods.filter(({ spec }) => spec.nodeName !== undefined).map(asCreated);
  const byWorkload = new Map(
    pods.flatMap((pod) => {
      const [owner] = pod.metadata.ownerReferences;
      if (owner === undefined || BY_NODE.has(owner.kind)) return [];
      return [[`${pod.metadata.namespace}/${owner.name}`, pod] as const];
    }),
  );
  return [...byWorkload].map(([workload, pod]) => ({
    nodes,
    pods: bound,
    next: nextOf(pod),
    features: [cluster, workload],
  }));
}

/** Without the controller that made it: here none runs. */
const asCreated = ({ metadata: { ownerReferences: _owners, ...metadata }, spec }: Pod): ApiObject => ({
  metadata,
  spec,
});

function nextOf({
  metadata: { labels, name, namespace },
  spec: { nodeName: _node, ...spec },
}: Pod): ApiObject {
  return asCreated({
    metadata: { name: `${name}-next`, namespace, labels, ownerReferences: [] },
    spec,
  });
}
