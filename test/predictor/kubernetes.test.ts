import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import type { PredictorOptionsInput } from "@tradewind/predictor/run/process/options.ts";
import { applicationPlace } from "@tradewind/kubernetes/application/resource.ts";
import { watchedNamespaces } from "@tradewind/predictor/sources/kubernetes/workloads.ts";
import { deployment, podOf, replicaSet } from "../kubernetes/cluster-objects.ts";
import { FakeApiServer } from "../kubernetes/fake-api-server.ts";
import { waitUntil } from "../wait-until.ts";

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));

describe("where workloads come from", () => {
  it.each([
    ["kubernetes", ["shop"]],
    ["kubernetes:shop,checkout,shop", ["shop", "checkout"]],
    ["kubernetes:*", []],
    ["workloads.json", undefined],
    ["kubernetes.json", undefined],
  ])("%s", (text, namespaces) => {
    expect(watchedNamespaces(text, ["shop"])).toEqual(namespaces);
  });

  it("refuses namespaces and resources that cannot exist", () => {
    expect(() => watchedNamespaces("kubernetes:Shop", ["x"])).toThrow(/'Shop' is not a namespace/);
    expect(() => applicationPlace("crd:shop")).toThrow(/not crd:namespace\/name/);
    expect(() => applicationPlace("crd:../x/y")).toThrow(/not crd:namespace\/name/);
    expect(applicationPlace("crd:shop/hotel.v2")).toEqual({ namespace: "shop", name: "hotel.v2" });
  });
});

/** A cluster with a shop of two pods, and a kubeconfig of somebody with the predictor's rights and no more. */
async function cluster() {
  const fake = await FakeApiServer.start({ cert: pem("server.crt"), key: pem("server.key") });
  fake.addUser("predictor", "predictor-token", [
    { namespace: "shop", rules: rulesFor("predictor", "watched", ["workloads", "application"]) },
    { rules: rulesFor("predictor", "cluster", ["nodes"]) },
  ]);
  fake.put(RESOURCES.deployments, deployment("web"));
  fake.put(RESOURCES.replicaSets, replicaSet("web-abc12", "web"));
  fake.put(RESOURCES.pods, podOf("web", 0));
  fake.put(RESOURCES.pods, podOf("web", 1));
  const folder = await mkdtemp(join(tmpdir(), "tradewind-kubernetes-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "here",
      contexts: [{ name: "here", context: { cluster: "one", user: "predictor", namespace: "tradewind" } }],
      clusters: [
        {
          name: "one",
          cluster: {
            server: fake.url,
            "certificate-authority-data": pem("authority.crt").toString("base64"),
          },
        },
      ],
      users: [{ name: "predictor", user: { token: "predictor-token" } }],
    }),
  );
  return { fake, kubeconfig };
}

const application = (spec: object = {}) => ({
  metadata: { name: "hotel", namespace: "shop" },
  spec: { entry: "web", objective: { milliseconds: 100, windowSeconds: 3 }, ...spec },
});

async function predictor(kubeconfig: string, more: Partial<PredictorOptionsInput> = {}) {
  const running = await startPredictor({
    config: "crd:shop/hotel",
    workloads: "kubernetes",
    kubeconfig,
    listen: "127.0.0.1:0",
    otlpListen: "127.0.0.1:0",
    windowSeconds: 1,
    graceSeconds: 0.1,
    policy: "static",
    logLevel: "silent",
    ...more,
  });
  onTestFinished(async () => running.stop());
  const get = async <Body>(path: string): Promise<Body | undefined> => {
    const response = await fetch(`${running.addresses["http"]}${path}`);
    return response.ok ? ((await response.json()) as Body) : undefined;
  };
  return {
    running,
    get,
    plan: async () => get<Plan>("/v1/plan"),
    windows: async () => get<WindowSet>("/v1/windows"),
  };
}

describe("a predictor in a cluster", () => {
  it("plans for an Application resource over the cluster's workloads, with the rights of the table and no more", async () => {
    const { fake, kubeconfig } = await cluster();
    fake.put(RESOURCES.applications, application());
    const { running, plan, windows } = await predictor(kubeconfig);
    await waitUntil(async () => (await windows())?.windows.some(({ service }) => service === "web") === true);
    expect((await windows())?.windows).toEqual([
      expect.objectContaining({ namespace: "shop", service: "web", replicasReady: 2, replicasWanted: 2 }),
    ]);
    expect(await plan()).toMatchObject({
      application: "hotel",
      namespace: "shop",
      objective: { seconds: 0.1 },
      windowSeconds: 1,
      complete: true,
      mode: "observe",
    });
    fake.put(RESOURCES.deployments, deployment("web", { replicas: 5 }));
    await waitUntil(async () => (await windows())?.windows[0]?.replicasWanted === 5);
    expect(fake.refused).toEqual([]);
    const metrics = await (await fetch(`${running.addresses["http"]}/metrics`)).text();
    // Two, that are watched as pods of workloads and as what is bound to nodes.
    expect(metrics).toMatch(/tradewind_kubernetes_objects\{resource="pods"\} 2/);
    expect(metrics).toMatch(/tradewind_kubernetes_watch_age_seconds\{resource="pods"\} 0/);
  });

  it("passes on what annotations of its workloads order, to scalers that say what they know", async () => {
    const { fake, kubeconfig } = await cluster();
    fake.put(RESOURCES.applications, application());
    const text = '{"kind":"pause","until":"2026-03-02T04:30:00Z","reason":"bad deploy"}';
    const { metadata, ...rest } = deployment("web");
    const annotations = { "tradewind.dev/override": text };
    fake.put(RESOURCES.deployments, { metadata: { ...metadata, annotations }, ...rest });
    const { plan, running } = await predictor(kubeconfig);
    await waitUntil(async () => (await plan())?.wishes.some(({ service }) => service === "web") === true);
    const response = await fetch(`${running.addresses["http"]}/v1/overrides`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ overrides: [], services: [] }),
    });
    expect(await response.json()).toEqual({ overrides: [], annotated: [{ service: "web", text }] });
  });

  it("plans with what somebody scaled by hand before the window is over", async () => {
    const { fake, kubeconfig } = await cluster();
    fake.put(RESOURCES.applications, application());
    const { plan } = await predictor(kubeconfig, { windowSeconds: 10 });
    const wish = async () => (await plan())?.wishes.find(({ service }) => service === "web");
    await waitUntil(async () => (await wish()) !== undefined, 30_000);
    const before = (await wish())!.inputs.windowEndMs;
    fake.put(RESOURCES.deployments, deployment("web", { replicas: 7 }));
    await waitUntil(async () => (await wish())?.observed.replicasWanted === 7);
    expect((await wish())!.inputs.windowEndMs).toBe(before);
  }, 60_000);

  it("names as the application's problem a workload of a kind that the cluster does not have", async () => {
    const { fake, kubeconfig } = await cluster();
    const services = [{ name: "web", workload: { kind: "Deploymnet", name: "web" } }];
    fake.put(RESOURCES.applications, application({ services }));
    const { get } = await predictor(kubeconfig);
    const problem = async () =>
      (await get<{ applications: { problem?: string }[] }>("/v1/applications"))?.applications[0]?.problem;
    await waitUntil(async () => (await problem()) !== undefined);
    expect(await problem()).toMatch(/service 'web': the cluster has no kind 'Deploymnet'/);
  });

  it("takes up every valid change of the Application and passes over the others", async () => {
    const { fake, kubeconfig } = await cluster();
    fake.put(RESOURCES.applications, application());
    const { plan } = await predictor(kubeconfig);
    await waitUntil(async () => (await plan()) !== undefined);
    fake.put(RESOURCES.applications, application({ objective: { milliseconds: 250 }, mode: "act" }));
    await waitUntil(async () => (await plan())?.objective.seconds === 0.25);
    expect(await plan()).toMatchObject({ mode: "act" });
    fake.put(RESOURCES.applications, application({ objective: { milliseconds: -1 } }));
    const { sequence } = (await plan())!;
    await waitUntil(async () => (await plan())!.sequence > sequence + 1);
    expect(await plan()).toMatchObject({ objective: { seconds: 0.25 } });
  });

  it("waits for an Application that is not there yet, and says for what it waits", async () => {
    const { fake, kubeconfig } = await cluster();
    const first = await predictor(kubeconfig, { config: await file() });
    const listen = new URL(first.running.addresses["http"]!).host;
    await first.running.stop();
    const starting = predictor(kubeconfig, { listen });
    await waitUntil(async () => {
      const response = await fetch(`http://${listen}/readyz`).catch(() => undefined);
      return response?.status === 503 && (await response.text()).includes("no valid Application 'hotel'");
    });
    expect((await fetch(`http://${listen}/healthz`)).status).toBe(200);
    fake.put(RESOURCES.applications, application());
    const { plan } = await starting;
    await waitUntil(async () => (await plan()) !== undefined);
  });

  it("keeps its plan, and takes no pods for none, while the API server answers 404 for pods", async () => {
    const { fake, kubeconfig } = await cluster();
    fake.put(RESOURCES.applications, application());
    const { plan, running, windows } = await predictor(kubeconfig, { policy: "auto" });
    await waitUntil(async () => (await plan())?.wishes[0]?.allocation.replicas === 2);
    fake.failNext(10_000, 404, { matches: ({ resource }) => resource === "pods", reason: "" });
    fake.dropWatches();
    const age = async () => {
      const metrics = await (await fetch(`${running.addresses["http"]}/metrics`)).text();
      return Number(/watch_age_seconds\{resource="pods"\} (\S+)/.exec(metrics)?.[1]);
    };
    // Four windows of a second; then the workloads are unknown.
    await waitUntil(async () => (await age()) > 5);
    const { sequence } = (await plan())!;
    await waitUntil(async () => (await plan())!.sequence > sequence);
    expect(await plan()).toMatchObject({
      policy: "hold",
      wishes: [{ service: "web", allocation: { replicas: 2 }, observed: { complete: false } }],
    });
    expect((await windows())?.windows).toEqual([]);
  }, 30_000);

  it("plans no more for an Application that was deleted", async () => {
    const { fake, kubeconfig } = await cluster();
    fake.put(RESOURCES.applications, application());
    const { plan, get } = await predictor(kubeconfig);
    await waitUntil(async () => (await plan()) !== undefined);
    fake.remove(RESOURCES.applications, "shop", "hotel");
    let last = (await plan())!.sequence;
    await waitUntil(async () => {
      const before = last;
      last = (await plan())!.sequence;
      const ageSeconds = (Date.now() - (await plan())!.plannedAtMs) / 1e3;
      return last === before && ageSeconds > 2.5;
    });
    expect(await get("/healthz")).toEqual({ ok: true });
  });
});

async function file(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-application-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  await writeFile(
    join(folder, "app.yaml"),
    "entry: web\nnamespace: shop\nobjective: { milliseconds: 100 }\n",
  );
  return join(folder, "app.yaml");
}

describe("the plan's address", () => {
  it("answers 304 to whoever has the plan, and gives the header alone", async () => {
    const { fake, kubeconfig } = await cluster();
    fake.put(RESOURCES.applications, application());
    const { running, plan } = await predictor(kubeconfig, { windowSeconds: 3 });
    await waitUntil(async () => (await plan())?.wishes.length === 1);
    const url = `${running.addresses["http"]}/v1/plan`;
    const response = await fetch(url);
    const body = (await response.json()) as Plan;
    const etag = response.headers.get("etag")!;
    expect((await fetch(url, { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await fetch(url, { headers: { "if-none-match": '"0-0"' } })).status).toBe(200);
    expect(await (await fetch(`${url}/header`)).json()).toEqual({ ...body, wishes: [] });
  });
});
