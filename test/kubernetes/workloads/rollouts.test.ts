import { Owned } from "@tradewind/kubernetes/objects/metadata.ts";
import { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { workloadList } from "@tradewind/kubernetes/workloads/workload-list.ts";
import { describe, expect, it } from "vitest";
import { pod } from "../cluster-objects.ts";

const HASH = "rollouts-pod-template-hash";

/** The Rollout `web` of five pods, of which the program `old` serves and `new` is tried. */
function web(
  strategy: object,
  {
    running,
    selector = "app=web",
    stable = "old",
  }: { readonly running: Record<string, number>; readonly selector?: string; readonly stable?: string },
) {
  const rollout = {
    metadata: { name: "web", namespace: "shop", uid: "rollout-web" },
    spec: { replicas: 5, strategy, template: { spec: { containers: [{ name: "main" }] } } },
    status: { readyReplicas: 10, stableRS: stable, currentPodHash: "new", selector },
  };
  const programs = Object.entries(running);
  const replicaSets = programs.map(([hash], at) =>
    Owned.parse({
      metadata: {
        name: `web-${hash}`,
        namespace: "shop",
        uid: `replicaset-web-${hash}`,
        labels: { [HASH]: hash },
        annotations: { "rollout.argoproj.io/revision": String(at + 1) },
        ownerReferences: [{ kind: "Rollout", name: "web", uid: "rollout-web", controller: true }],
      },
    }),
  );
  const pods = programs.flatMap(([hash, count]) =>
    Array.from({ length: count }, (_, at) => {
      const owner = { kind: "ReplicaSet", name: `web-${hash}`, uid: `replicaset-web-${hash}` };
      const made = pod(`web-${hash}-${at}`, { owner });
      return Pod.parse({ ...made, metadata: { ...made.metadata, labels: { app: "web", [HASH]: hash } } });
    }),
  );
  const none = { horizontalPodAutoscalers: [], scaledObjects: [], quotas: [], budgets: [], nodes: undefined };
  const list = workloadList(
    { ...none, scalables: [scalable("Rollout").parse(rollout)], replicaSets, pods },
    () => undefined,
    0,
  );
  return list.workloads[0]!;
}

describe("a Rollout that tries another program", () => {
  const byPods = { canary: { steps: [{ setWeight: 20 }, { pause: {} }] } };

  it("keeps the program that serves until the other one has its place", () => {
    const running = { old: 4, new: 1 };
    expect(web(byPods, { running }).revision).toBe("old");
    expect(web(byPods, { running, stable: "new" }).revision).toBe("new");
  });

  it("is not made smaller while its canary is weighed by the number of pods", () => {
    expect(web(byPods, { running: { old: 4, new: 1 } })).toMatchObject({ replicasReady: 5, minReplicas: 5 });
    expect(web(byPods, { running: { new: 5 }, stable: "new" })).not.toHaveProperty("minReplicas");
  });

  it("may be made smaller where something else weighs the requests", () => {
    const byMesh = { canary: { trafficRouting: { istio: {} }, steps: [{ setWeight: 20 }] } };
    expect(web(byMesh, { running: { old: 5, new: 1 } })).not.toHaveProperty("minReplicas");
  });

  it("does not count the pods of a preview, which no request reaches", () => {
    const selector = `app=web,${HASH}=old`;
    const { pods, replicasReady, revision } = web(
      { blueGreen: { previewService: "web-preview" } },
      { selector, running: { old: 5, new: 5 } },
    );
    expect({ pods: pods.length, replicasReady, revision }).toEqual({
      pods: 5,
      replicasReady: 5,
      revision: "old",
    });
  });
});
