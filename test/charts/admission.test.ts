import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../wait-until.ts";
import { kubebuilderAssets } from "../kubernetes/real-api-server.ts";
import { startApiServer } from "./api-server.ts";
import type { ApiServer } from "./api-server.ts";
import { at, CASES, CHART, find, helm, objectsOf, render, runHelm, valuesOf } from "./helm.ts";
import type { KubernetesObject } from "./helm.ts";
import { QUICKSTART_MANIFESTS } from "./quickstart.ts";

const binaries = helm === undefined ? undefined : kubebuilderAssets();

/** Kinds that a bare API server does not know. */
const FOREIGN = new Set(["monitoring.coreos.com/v1", "cert-manager.io/v1"]);

/** The server says so of every headless Service, after it has set the field itself. */
const OF_ITS_OWN = '299 - "spec.SessionAffinity is ignored for headless services"';

/** What Pod Security's level `restricted` says of the agent, and of nothing else. */
const HOST_PATHS =
  '299 - "would violate PodSecurity \\"restricted:latest\\": restricted volume types (volumes \\"proc\\", \\"sys\\" use restricted volume type \\"hostPath\\")"';

/** Namespaces that the value files speak of. */
const NAMESPACES = ["tradewind", "shop", "bank", "payments", "monitoring", "keda"];

describe.skipIf(binaries === undefined)("a real API server, asked without consequences", () => {
  let server: ApiServer;
  const paths = new Map<string, string>();

  beforeAll(async () => {
    server = await startApiServer(binaries!);
    for (const name of NAMESPACES) {
      await server.call("POST", "/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, labels: { "pod-security.kubernetes.io/warn": "restricted" } },
      });
    }
    for (const file of readdirSync(join(CHART, "crds"))) {
      const [definition] = objectsOf(readFileSync(join(CHART, "crds", file), "utf8"));
      const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      const { body, status } = await server.call("POST", path, definition);
      if (status !== 201) throw new Error(`${file}: ${body.message}`);
    }
    await waitUntil(
      async () => (await server.call("GET", "/apis/tradewind.dev/v1alpha1")).status === 200,
      30_000,
      "the API server serves Applications",
    );
  }, 120_000);
  afterAll(() => server?.stop());

  /** Where objects of this kind are created. */
  async function pathOf({ apiVersion, kind, metadata }: KubernetesObject): Promise<string> {
    const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    if (!paths.has(`${apiVersion} ${kind}`)) {
      const { body } = await server.call("GET", group);
      for (const { kind: each, name, namespaced } of body.resources ?? []) {
        if (!name.includes("/")) {
          paths.set(
            `${apiVersion} ${each}`,
            namespaced ? `${group}/namespaces/*/${name}` : `${group}/${name}`,
          );
        }
      }
    }
    const path = paths.get(`${apiVersion} ${kind}`);
    if (path === undefined) throw new Error(`the API server knows no ${apiVersion} ${kind}`);
    return path.replace("*", metadata.namespace ?? "tradewind");
  }

  it.each(CASES)(
    "accepts every object of %s, unknown fields forbidden, within Pod Security's restricted level but for the agent's host paths",
    { timeout: 60_000 },
    async (name) => {
      const objects = (await render(name)).filter(({ apiVersion }) => !FOREIGN.has(apiVersion));
      expect(objects.length).toBeGreaterThan(4);
      for (const object of objects) {
        const path = `${await pathOf(object)}?dryRun=All&fieldValidation=Strict`;
        const { status, body, warnings } = await server.call("POST", path, object);
        expect({
          name: object.metadata.name,
          status,
          message: body.message,
          warnings: warnings.replace(OF_ITS_OWN, ""),
        }).toEqual({
          name: object.metadata.name,
          status: 201,
          message: undefined,
          warnings: object.kind === "DaemonSet" ? HOST_PATHS : "",
        });
      }
    },
  );

  it("takes the objects of the quickstart", async () => {
    const [application = "", scaledObject = ""] = QUICKSTART_MANIFESTS;
    expect(objectsOf(scaledObject).map(({ kind }) => kind)).toEqual(["ScaledObject"]);
    const objects = objectsOf(application);
    expect(objects).toHaveLength(5);
    for (const object of objects) {
      const inShop = { ...object, metadata: { ...object.metadata, namespace: "shop" } };
      const { status, body } = await server.call(
        "POST",
        `${await pathOf(inShop)}?dryRun=All&fieldValidation=Strict`,
        inShop,
      );
      expect(status, `${object.metadata.name}: ${body.message}`).toBe(201);
    }
  });

  it("installs, upgrades and uninstalls with Helm, as the notes say", { timeout: 90_000 }, async () => {
    const flags = ["--namespace", "tradewind", "--kubeconfig", server.kubeconfig];
    const installed = await runHelm("install", "tradewind", CHART, ...flags);
    expect(installed.ok, `helm: ${installed.stderr}`).toBe(true);
    expect(installed.stdout).toContain("NEXT: say which application to look after");
    const [, upgrade = ""] = /\n(  helm upgrade [\s\S]*?\n)\n/.exec(installed.stdout) ?? [];
    const words = upgrade.replaceAll("\\\n", " ").trim().split(/\s+/).slice(1);
    const asTold = words.map((word) => (word === "CHART" ? CHART : word));
    const upgraded = await runHelm(...asTold, "--kubeconfig", server.kubeconfig);
    expect(upgraded.ok, `helm: ${upgraded.stderr}`).toBe(true);
    expect(upgraded.stdout).toContain("kind: ScaledObject");
    const { body } = await server.call(
      "GET",
      "/apis/apps/v1/namespaces/tradewind/deployments/tradewind-scaler",
    );
    expect(JSON.stringify(body)).toContain("--workloads=kubernetes:shop");
    const secret = async () =>
      at(
        await server.call("GET", "/api/v1/namespaces/tradewind/secrets/tradewind-peers-token"),
        "body",
        "metadata",
        "uid",
      );
    const made = await secret();
    expect(made).toEqual(expect.any(String));
    expect((await runHelm(...asTold, "--kubeconfig", server.kubeconfig)).ok).toBe(true);
    expect(await secret()).toBe(made);
    const removed = await runHelm("uninstall", "tradewind", ...flags);
    expect(removed.ok, `helm: ${removed.stderr}`).toBe(true);
  });

  it("creates nothing while the application's namespace is missing, and installs by the same command once it is there", async () => {
    const flags = ["--namespace", "empty", "--create-namespace", "--kubeconfig", server.kubeconfig];
    const values = ["--values", valuesOf("minimal"), "--set", "application.spec.namespace=late"];
    const install = async () => runHelm("install", "retried", CHART, ...flags, ...values);
    const refused = await install();
    expect(refused.ok).toBe(false);
    expect(refused.stderr).toContain("kubectl create namespace late");
    expect((await server.call("GET", "/api/v1/namespaces/empty")).status).toBe(404);
    const late = { apiVersion: "v1", kind: "Namespace", metadata: { name: "late" } };
    expect((await server.call("POST", "/api/v1/namespaces", late)).status).toBe(201);
    const installed = await install();
    expect(installed.ok, `helm: ${installed.stderr}`).toBe(true);
    const removed = await runHelm(
      "uninstall",
      "retried",
      ...flags.filter((flag) => !flag.startsWith("--create")),
    );
    expect(removed.ok, `helm: ${removed.stderr}`).toBe(true);
  }, 60_000);

  it("refuses what is wrong, so that accepting means something", async () => {
    const object = find(await render("minimal"), "DaemonSet", "tradewind-agent");
    const wrong = { ...object, spec: { ...(at(object, "spec") as object), replica: 2 } };
    const { status, body } = await server.call(
      "POST",
      `${await pathOf(object)}?dryRun=All&fieldValidation=Strict`,
      wrong,
    );
    expect(status).toBe(400);
    expect(body.message).toContain('unknown field "spec.replica"');
  });
});
