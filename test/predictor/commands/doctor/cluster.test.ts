import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { examine } from "@tradewind/predictor/commands/doctor/doctor.ts";
import { DoctorOptions } from "@tradewind/predictor/commands/doctor/options.ts";
import { FakeApiServer } from "../../../kubernetes/fake-api-server.ts";
import { deployment, pod, replicaSet } from "../../../kubernetes/cluster-objects.ts";
import { ASKS_TRADEWIND, CPU, kedaHpa, scaledObject } from "../../../kubernetes/keda-objects.ts";
import type { Grant } from "../../../kubernetes/fake-access.ts";

const pem = (name: string) => readFileSync(new URL(`../../../fixtures/tls/${name}`, import.meta.url));

async function cluster(grants: readonly Grant[]) {
  const fake = await FakeApiServer.start({ cert: pem("server.crt"), key: pem("server.key") });
  fake.addUser("predictor", "predictor-token", grants);
  const folder = await mkdtemp(join(tmpdir(), "tradewind-doctor-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "kubeconfig");
  const ca = pem("authority.crt").toString("base64");
  await writeFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "here",
      contexts: [{ name: "here", context: { cluster: "one", user: "predictor" } }],
      clusters: [{ name: "one", cluster: { server: fake.url, "certificate-authority-data": ca } }],
      users: [{ name: "predictor", user: { token: "predictor-token" } }],
    }),
  );
  const look = async (options: object) =>
    (await examine(DoctorOptions.parse({ kubeconfig, ...options }), Date.now())).map(
      ({ level, message, remedy }) => `${level}: ${message}${remedy === undefined ? "" : ` -> ${remedy}`}`,
    );
  return { fake, folder, look };
}

const ALL: readonly Grant[] = [
  { namespace: "shop", rules: rulesFor("predictor", "watched", ["workloads", "application"]) },
  { rules: rulesFor("predictor", "cluster", ["nodes"]) },
];

describe("doctor in a cluster", () => {
  it("finds nothing to mend where the rights of the table are given and the application is valid", async () => {
    const { fake, look } = await cluster(ALL);
    fake.put(RESOURCES.applications, {
      metadata: { name: "hotel", namespace: "shop" },
      spec: { entry: "web", objective: { milliseconds: 100 } },
    });
    expect(await look({ config: "crd:shop/hotel", workloads: "kubernetes" })).toEqual([
      "ok: workloads can be read in shop",
      "ok: entry web",
    ]);
  });

  it("finds HPAs that lost the recommendation, and ScaledObjects that could lose it, with what to do", async () => {
    const { fake, look } = await cluster(ALL);
    const said = async () => (await look({ workloads: "kubernetes:shop" })).slice(1);
    fake.put(RESOURCES.scaledObjects, scaledObject([ASKS_TRADEWIND, CPU]));
    expect(await said()).toEqual([
      expect.stringMatching(/^warning: beside the trigger 'cpu' KEDA drops .* -> remove the trigger 'cpu'/),
    ]);
    fake.put(RESOURCES.horizontalPodAutoscalers, kedaHpa([]));
    expect(await said()).toEqual([
      expect.stringMatching(
        /^problem: HPA 'keda-hpa-search' does not read what Tradewind recommends.* -> while a scaler answers: remove the trigger 'cpu', or .*kubectl --namespace shop patch scaledobject search/,
      ),
    ]);
    fake.put(RESOURCES.scaledObjects, scaledObject([ASKS_TRADEWIND]));
    fake.put(RESOURCES.horizontalPodAutoscalers, kedaHpa(["s0-recommended-replicas"]));
    expect(await said()).toEqual(["ok: 1 ask Tradewind, and 1 HPAs read what it recommends"]);
  });

  it("names a trigger that multiplies, a second autoscaler, and a pause, with who owns the object", async () => {
    const { fake, look } = await cluster(ALL);
    const object = scaledObject([{ ...ASKS_TRADEWIND, metricType: "Value" }]);
    const annotations = {
      "autoscaling.keda.sh/paused-replicas": "5",
      "argocd.argoproj.io/tracking-id": "shop:keda.sh/ScaledObject:shop/search",
    };
    fake.put(RESOURCES.scaledObjects, { ...object, metadata: { ...object.metadata, annotations } });
    fake.put(RESOURCES.horizontalPodAutoscalers, {
      metadata: { name: "by-hand", namespace: "shop" },
      spec: { scaleTargetRef: { kind: "Deployment", name: "search" }, maxReplicas: 4 },
    });
    expect((await look({ workloads: "kubernetes:shop" })).slice(1)).toEqual([
      expect.stringMatching(
        /^problem: the trigger has metricType Value, .* -> .*AverageValue, where Argo CD application 'shop' has it from/,
      ),
      expect.stringMatching(/^problem: Deployment 'search' is scaled by HPA 'by-hand' too/),
      expect.stringMatching(
        /^warning: KEDA is paused at 5 replicas: .* -> remove the annotation autoscaling.keda.sh\/paused-replicas/,
      ),
    ]);
  });

  it("says nothing of ScaledObjects where KEDA is not installed", async () => {
    const { fake, look } = await cluster(ALL);
    fake.uninstall(RESOURCES.scaledObjects);
    expect(await look({ workloads: "kubernetes:shop" })).toEqual(["ok: workloads can be read in shop"]);
  });

  it("names each missing right and what it is for", async () => {
    const { look } = await cluster([
      {
        namespace: "shop",
        rules: rulesFor("predictor", "watched", ["workloads"]).filter(
          ({ resources }) => resources[0] !== "pods",
        ),
      },
    ]);
    expect(await look({ workloads: "kubernetes:shop" })).toEqual([
      expect.stringMatching(
        /^problem: may not list pods in namespace 'shop': readiness.*docs\/kubernetes\.md/,
      ),
      expect.stringMatching(/^problem: may not watch pods in namespace 'shop'/),
      expect.stringMatching(/^warning: may not list nodes: what the nodes have/),
      expect.stringMatching(/^warning: may not watch nodes/),
      expect.stringMatching(/^warning: may not list pods: what pods of all namespaces take of the nodes/),
      expect.stringMatching(/^warning: may not watch pods/),
      expect.stringMatching(/^warning: may not list nodepools: which nodes Karpenter can add/),
      expect.stringMatching(/^warning: may not watch nodepools/),
      expect.stringMatching(/^warning: may not list configmaps: how many nodes/),
      expect.stringMatching(/^warning: may not watch configmaps/),
    ]);
  });

  it("names workloads whose next pod no node takes, and why", async () => {
    const { fake, look } = await cluster(ALL);
    const ready = [{ type: "Ready", status: "True" }];
    const node = (name: string, cpu: string, spec: object = {}) => ({
      metadata: { name },
      spec,
      status: { allocatable: { cpu, memory: "8Gi", pods: "110" }, conditions: ready },
    });
    const taints = [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }];
    fake.put(RESOURCES.nodes, node("control-plane", "8", { taints }));
    fake.put(RESOURCES.nodes, node("node-1", "2"));
    fake.put(RESOURCES.deployments, deployment("cart", { requests: { cpu: "1" } }));
    fake.put(RESOURCES.pods, pod("tenant", { namespace: "others", requests: { cpu: "1500m" } }));
    const said = async () => (await look({ workloads: "kubernetes:shop" })).slice(1);
    expect(await said()).toEqual([
      expect.stringMatching(
        /^warning: no node takes another pod of 'shop\/cart': 1 have a taint .*, 1 have too little CPU, memory or slots left -> add nodes/,
      ),
    ]);
    fake.put(RESOURCES.deployments, deployment("search", { requests: { cpu: "400m" } }));
    fake.put(RESOURCES.replicaSets, replicaSet("search-1", "search"));
    const owner = { kind: "ReplicaSet", name: "search-1", uid: "replicaset-search-1" };
    fake.put(RESOURCES.pods, pod("search-1-a", { requests: { cpu: "400m" }, owner }));
    fake.put(RESOURCES.pods, pod("tenant", { namespace: "others", requests: { cpu: "900m" } }));
    expect((await said())[0]).toMatch(/; 1 pod of 'shop\/search' would have to leave node-1 -> /);
    fake.put(RESOURCES.nodes, node("node-2", "2"));
    expect(await said()).toEqual([
      expect.stringMatching(
        /^ok: the next pod of each of 2 workloads has a node.*; the fewest more: 2 of 'shop\/cart'/,
      ),
    ]);
  });

  it("says that there is no application, none that is valid, or no such kind", async () => {
    const { fake, look } = await cluster(ALL);
    const last = async () => (await look({ config: "crd:shop/hotel" })).at(-1);
    expect(await last()).toMatch(/^problem: there is no such resource -> .*tradewind init/);
    fake.put(RESOURCES.applications, {
      metadata: { name: "hotel", namespace: "shop" },
      spec: { entry: "web" },
    });
    expect(await last()).toMatch(/^problem: .*objective/);
    fake.uninstall(RESOURCES.applications);
    expect(await last()).toMatch(/^problem: the cluster does not know this kind -> .*crds/);
  });

  it("names workloads of kinds that the cluster does not have, of an application in a file too", async () => {
    const { fake, folder, look } = await cluster(ALL);
    const spec = {
      entry: "web",
      objective: { milliseconds: 100 },
      services: [{ name: "pay", workload: { kind: "Deploymnet", name: "pay" } }],
    };
    fake.put(RESOURCES.applications, { metadata: { name: "hotel", namespace: "shop" }, spec });
    const file = join(folder, "app.json");
    await writeFile(file, JSON.stringify({ name: "hotel", namespace: "shop", ...spec }));
    const problem: unknown = expect.stringMatching(
      /^problem: service 'pay': the cluster has no kind 'Deploymnet'/,
    );
    expect(await look({ config: "crd:shop/hotel", workloads: "kubernetes" })).toContainEqual(problem);
    expect(await look({ config: file, workloads: "kubernetes:shop" })).toContainEqual(problem);
  });

  it("says that the API server cannot be reached", async () => {
    const { fake, look } = await cluster(ALL);
    await fake.stop();
    expect(await look({ workloads: "kubernetes:shop", timeoutSeconds: 1 })).toEqual([
      expect.stringMatching(/^problem: .*API.* -> check the API server's address/),
    ]);
  });
});
