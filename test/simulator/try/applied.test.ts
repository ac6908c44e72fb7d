import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { filesOf } from "@tradewind/simulator/try/files.ts";
import type { TryFile } from "@tradewind/simulator/try/files.ts";
import { insightOf } from "@tradewind/simulator/try/insight.ts";
import { recordedIncident } from "@tradewind/simulator/try/demo.ts";
import { startApiServerWithApplications } from "../../charts/api-server.ts";
import type { ApiServer } from "../../charts/api-server.ts";
import { helm, objectsOf, template } from "../../charts/helm.ts";
import { kubebuilderAssets } from "../../kubernetes/real-api-server.ts";

/** What is written for the demonstration's shop; too little of it is given for a replay. */
let files: readonly TryFile[];
beforeAll(async () => {
  const { found, sets } = await recordedIncident();
  const question = {
    namespace: "default",
    entry: undefined,
    objectiveMilliseconds: 100,
    exclude: [],
    include: [],
    podStartSeconds: 45,
    seed: 1,
  };
  const { proposed } = await insightOf({ found, sets: sets.slice(0, 10) }, question, undefined);
  files = filesOf(proposed, "default", {
    url: "http://prometheus.monitoring.svc:9090",
    isOfCluster: true,
    namespaces: ["default"],
    matchers: { cluster: "eu" },
  });
}, 60_000);

const textOf = (name: string): string => files.find((file) => file.name === name)!.text;

describe("what tradewind try writes", () => {
  it.skipIf(helm === undefined)(
    "renders the chart by its values, with the metrics that were read",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "tradewind-values-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const values = join(folder, "values.yaml");
      writeFileSync(values, textOf("values.yaml"));
      const { ok, stderr, stdout } = await template("--values", values);
      expect({ ok, stderr }).toEqual({ ok: true, stderr: "" });
      const text = JSON.stringify(objectsOf(stdout));
      expect(text).toContain("http://prometheus.monitoring.svc:9090");
      expect(text).toContain("crd:default/*");
    },
  );

  it("names in each kustomization the objects of its folder, and nothing else", () => {
    for (const { name, text } of files.filter((file) => file.name.endsWith("kustomization.yaml"))) {
      const folder = name.split("/")[0]!;
      const own = files
        .map((file) => file.name)
        .filter((path) => path.startsWith(`${folder}/`) && path.endsWith(".yaml") && path !== name);
      const { resources } = parse(text) as { resources: string[] };
      expect(resources.map((resource) => `${folder}/${resource}`).toSorted()).toEqual(own.toSorted());
    }
  });

  it("has a way back for every HPA that a ScaledObject takes over", () => {
    const names = (path: string): string[] =>
      parseAllDocuments(textOf(path)).map(
        (document) => (document.toJS() as { metadata: { name: string } }).metadata.name,
      );
    expect(names("back/horizontal-pod-autoscalers.yaml")).toEqual(names("2-act/scaled-objects.yaml"));
  });
});

const binaries = kubebuilderAssets();

describe.skipIf(binaries === undefined)("a real API server", () => {
  let server: ApiServer;

  beforeAll(async () => {
    server = await startApiServerWithApplications(binaries!);
  }, 120_000);
  afterAll(() => server?.stop());

  it.each([
    ["the Application", "1-observe/application.yaml", "tradewind.dev/v1alpha1", "applications"],
    ["the way back", "back/horizontal-pod-autoscalers.yaml", "autoscaling/v2", "horizontalpodautoscalers"],
  ])("admits %s that tradewind try writes, unknown fields forbidden", async (_, file, version, plural) => {
    for (const document of parseAllDocuments(textOf(file))) {
      const path = `/apis/${version}/namespaces/default/${plural}?dryRun=All&fieldValidation=Strict`;
      const { body, status, warnings } = await server.call("POST", path, document.toJS());
      expect({ message: body.message, status, warnings }).toEqual({
        message: undefined,
        status: 201,
        warnings: "",
      });
    }
  });
});
