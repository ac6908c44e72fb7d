import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { CRD_PATH } from "@tradewind/kubernetes/crd/crd-file.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { noCluster, TIMEOUT_MS, useCluster } from "./cluster.ts";
import { create } from "./create.ts";
import { eventually, Stage } from "./stage.ts";

/** An Application that asks for so many replicas of its only service at least. */
async function apply(api: ApiClient, namespace: string, minReplicas: number): Promise<void> {
  const spec = {
    entry: "web",
    objective: { milliseconds: 200 },
    mode: "act",
    services: [{ name: "web", minReplicas, maxReplicas: 9 }],
  };
  await eventually(`an Application in ${namespace}`, async () =>
    create(api, RESOURCES.applications, { metadata: { name: "web", namespace }, spec }).then(
      () => true,
      () => false,
    ),
  );
}

describe.skipIf(noCluster)("Applications in two namespaces of a cluster", { timeout: TIMEOUT_MS }, () => {
  const cluster = useCluster();

  it("are scaled apart by one release; when one is deleted its HPA holds and the other's goes on", async () => {
    const { api, kubeconfig } = cluster();
    const definition = parse(readFileSync(CRD_PATH, "utf8")) as object;
    await create(api, RESOURCES.customResourceDefinitions, definition);
    const shop = await Stage.open(cluster(), "two-shop");
    const bank = await Stage.open(cluster(), "two-bank");
    const applications = [shop, bank].map(({ namespace }) => `crd:${namespace}/*`);
    await apply(api, shop.namespace, 3);
    await apply(api, bank.namespace, 5);
    for (const stage of [shop, bank]) await stage.deploy("web");

    const any = "127.0.0.1:0";
    const common = {
      kubeconfig,
      listen: any,
      windowSeconds: 2,
      graceSeconds: 0.5,
      logLevel: "silent",
    } as const;
    const predictor = await startPredictor({
      ...common,
      config: applications,
      workloads: "kubernetes",
      otlpListen: any,
    });
    onTestFinished(async () => predictor.stop());
    const exporter = await startExporter({
      listen: any,
      grpcListen: `127.0.0.1:${shop.grpcPort}`,
      predictor: predictor.addresses["http"]!,
      application: applications,
      restartGrace: 0,
      staleAfter: 30,
      logLevel: "silent",
      cluster: { status: true, kubeconfig, namespace: shop.namespace, reconcileMs: 500 },
    });
    onTestFinished(async () => exporter.stop());
    const metadata = { scalerAddress: `127.0.0.1:${shop.grpcPort}`, service: "web", application: "web" };
    for (const stage of [shop, bank]) await stage.scale("web", { trigger: { metadata } });
    await shop.untilReplicas("the shop's least", { web: 3 });
    await bank.untilReplicas("the bank's least", { web: 5 });

    await api.remove({ resource: RESOURCES.applications, namespace: bank.namespace, name: "web" });
    await eventually("the bank's HPA gets no number", async () =>
      (await bank.hpaCondition("web", "ScalingActive"))?.startsWith("False"),
    );
    const patch = { spec: { services: [{ name: "web", minReplicas: 4, maxReplicas: 9 }] } };
    const own = { resource: RESOURCES.applications, namespace: shop.namespace, name: "web" };
    await api.patch(own, "merge", patch);
    await shop.untilReplicas("the shop's new least", { web: 4 });
    expect((await bank.replicas()).get("web")).toBe(5);
  });
});
