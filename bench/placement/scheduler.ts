import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import { z } from "zod";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { create } from "../../test/cluster/create.ts";
import { builtNodePrograms, NODE_COMMAND } from "../../test/cluster/programs.ts";
import { kubebuilderAssets, startRealApiServer } from "../../test/kubernetes/real-api-server.ts";
import { RUNTIME_CLASS } from "./clusters.ts";
import type { ApiObject, Case } from "./clusters.ts";

const RUNTIME_CLASSES: Resource = {
  group: "node.k8s.io",
  version: "v1",
  plural: "runtimeclasses",
  kind: "RuntimeClass",
  namespaced: false,
};
/** The scheduler hears of nodes and of pods by watches of their own: it decides once all have come. */
const SETTLE_MS = 150;
const LOOK_MS = 15;
const MOST_LOOKS = 1_000;
/** Keeps the next pod from the scheduler until the rest of its cluster has come. */
const GATE = { name: "bench/settle" };

const Items = z.object({ items: z.array(z.unknown()) });
const Outcome = z.object({
  spec: z.object({ nodeName: z.string().optional() }),
  status: z
    .object({
      conditions: z
        .array(z.object({ type: z.string(), reason: z.string().optional(), message: z.string().optional() }))
        .optional(),
    })
    .optional(),
});

/** What the scheduler did, and the cluster as the API shows it before. */
export interface Verdict {
  /** Absent where no node took the pod. */
  readonly node?: string;
  readonly message: string;
  readonly nodes: readonly unknown[];
  readonly pods: readonly unknown[];
  readonly next: unknown;
}

/** A real kube-apiserver and kube-scheduler, and no nodes but those that cases make. */
export class RealScheduler {
  private readonly api: ApiClient;
  /** Those that the server makes, and those that cases needed. */
  private readonly namespaces = new Set(["default", "kube-system"]);
  private readonly stopServer: () => Promise<void>;

  private constructor(api: ApiClient, stopServer: () => Promise<void>) {
    this.api = api;
    this.stopServer = stopServer;
  }

  /** @throws Error where the programs were not built */
  static async start(): Promise<RealScheduler> {
    const [assets, programs] = [kubebuilderAssets(), builtNodePrograms()];
    if (assets === undefined || programs === undefined)
      throw new Error(`kube-scheduler was not built; '${NODE_COMMAND} build' builds it`);
    // Nobody would take back the taint of nodes that are new.
    const server = await startRealApiServer(assets, ["--disable-admission-plugins=TaintNodesByCondition"]);
    const api = new ApiClient(server.connection("admin"));
    await create(api, RUNTIME_CLASSES, {
      metadata: { name: RUNTIME_CLASS },
      handler: "none",
      overhead: { podFixed: { cpu: "250m", memory: "64Mi" } },
    });
    server.start(join(programs, "kube-scheduler"), [
      `--kubeconfig=${server.kubeconfig}`,
      `--authentication-kubeconfig=${server.kubeconfig}`,
      `--authorization-kubeconfig=${server.kubeconfig}`,
      "--leader-elect=false",
      "--secure-port=0",
    ]);
    return new RealScheduler(api, async () => server.stop());
  }

  async stop(): Promise<void> {
    await this.api.close();
    await this.stopServer();
  }

  /** Makes the cluster, lets the scheduler place its next pod, and takes everything away again. */
  async decide({ next, nodes, pods }: Case): Promise<Verdict> {
    const { api } = this;
    const namespaces = await this.namespacesOf([next, ...pods]);
    await Promise.all(nodes.map(async (node) => create(api, RESOURCES.nodes, node)));
    await Promise.all(pods.map(async (pod) => create(api, RESOURCES.pods, pod)));
    await create(api, RESOURCES.pods, {
      ...next,
      spec: { ...(next["spec"] as object), schedulingGates: [GATE] },
    });
    const { name, namespace = "default" } = next.metadata;
    const place = { resource: RESOURCES.pods, namespace, name };
    const listed = async (resource: Resource): Promise<unknown[]> =>
      Items.parse(await api.call({ resource, verb: "list" })).items;
    const seen = { nodes: await listed(RESOURCES.nodes), pods: await listed(RESOURCES.pods) };
    const asked = await api.call({ ...place, verb: "get" });
    await delay(SETTLE_MS);
    await api.patch(place, "merge", { spec: { schedulingGates: null } });
    const outcome = await this.outcomeOf(place);
    await Promise.all([
      ...namespaces.map(async (each) =>
        api.call({
          resource: RESOURCES.pods,
          namespace: each,
          verb: "delete",
          query: { gracePeriodSeconds: 0 },
        }),
      ),
      ...nodes.map(async (node) => api.remove({ resource: RESOURCES.nodes, name: node.metadata.name })),
    ]);
    return { ...seen, next: asked, ...outcome };
  }

  /** The namespaces that pods lie in; makes those that are not there. */
  private async namespacesOf(pods: readonly ApiObject[]): Promise<readonly string[]> {
    const names = [...new Set(pods.flatMap(({ metadata }) => metadata.namespace ?? []))];
    for (const name of names) {
      if (this.namespaces.has(name)) continue;
      await create(this.api, RESOURCES.namespaces, { metadata: { name } });
      this.namespaces.add(name);
    }
    return names;
  }

  private async outcomeOf(place: {
    readonly resource: Resource;
    readonly namespace: string;
    readonly name: string;
  }): Promise<Pick<Verdict, "message" | "node">> {
    for (let look = 0; look < MOST_LOOKS; look += 1) {
      const { spec, status } = await this.api.get(place, Outcome);
      if (spec.nodeName !== undefined) return { node: spec.nodeName, message: "" };
      const refused = status?.conditions?.find(({ reason }) => reason === "Unschedulable");
      if (refused !== undefined) return { message: refused.message ?? "" };
      await delay(LOOK_MS);
    }
    throw new Error(`the scheduler decided nothing on pod '${place.name}'`);
  }
}
