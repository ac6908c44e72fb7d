import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { Application } from "@tradewind/core/contract/application.ts";
import { ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { recommendationTriggers } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import { startApiServerWithApplications } from "../charts/api-server.ts";
import type { ApiServer } from "../charts/api-server.ts";
import { at, find, helm, objectsOf, template } from "../charts/helm.ts";
import { kubebuilderAssets } from "../kubernetes/real-api-server.ts";

const EXAMPLES = join(import.meta.dirname, "..", "..", "examples");
const NAMES = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const textOf = (...path: readonly string[]): string => readFileSync(join(EXAMPLES, ...path), "utf8");

const ApplicationObject = z.strictObject({
  apiVersion: z.literal("tradewind.dev/v1alpha1"),
  kind: z.literal("Application"),
  metadata: z.strictObject({ name: z.string(), namespace: z.string() }),
  spec: z.record(z.string(), z.unknown()),
});

const applicationOf = (example: string): Application => {
  const { metadata, spec } = ApplicationObject.parse(parse(textOf(example, "application.yaml")));
  return Application.parse({ ...metadata, ...spec });
};

const scaledObjectsOf = (example: string) =>
  parseAllDocuments(textOf(example, "scaledobjects.yaml")).map((document, index) => {
    const object = document.toJS() as {
      metadata: object;
      spec: { minReplicaCount: number; maxReplicaCount: number };
    };
    const metadata = { uid: `uid-${index}`, resourceVersion: "1", ...object.metadata };
    return { raw: object, read: ScaledObject.parse({ ...object, metadata }) };
  });

describe.each(NAMES)("examples/%s", (example) => {
  it("has a valid Application that begins by looking on", () => {
    const application = applicationOf(example);
    expect(application.mode).toBe("observe");
    expect(application.services.map(({ name }) => name)).toContain(application.entry);
  });

  it("has one ScaledObject for each service, whose only trigger asks for it, within the Application's bounds", () => {
    const { namespace, services } = applicationOf(example);
    const objects = scaledObjectsOf(example);
    const triggers = recommendationTriggers(
      objects.map(({ read }) => read),
      [],
    );
    expect(triggers.map(({ service }) => service).toSorted()).toEqual(
      services.map(({ name }) => name).toSorted(),
    );
    for (const trigger of triggers) expect(trigger).toMatchObject({ namespace, otherTriggers: [] });
    for (const { raw, read } of objects) {
      const { maxReplicas, minReplicas } = services.find(({ name }) => name === read.target.name)!;
      expect(raw.spec).toMatchObject({ minReplicaCount: minReplicas, maxReplicaCount: maxReplicas });
    }
  });

  it.skipIf(helm === undefined)(
    "renders the chart with a predictor that plans the namespace, at the address that triggers name",
    { timeout: 60_000 },
    async () => {
      const { ok, stderr, stdout } = await template("--values", join(EXAMPLES, example, "values.yaml"));
      expect({ ok, stderr }).toEqual({ ok: true, stderr: "" });
      const objects = objectsOf(stdout);
      const { namespace } = applicationOf(example);
      expect(find(objects, "Service", "tradewind-otlp")).toBeDefined();
      const pods = at(
        find(objects, "Deployment", "tradewind-scaler"),
        "spec",
        "template",
        "spec",
        "containers",
      );
      expect(JSON.stringify(pods)).toContain(`crd:${namespace}/*`);
      const [host, service] = ["tradewind-scaler.tradewind.svc.cluster.local:9813", "tradewind-scaler"];
      expect(textOf(example, "scaledobjects.yaml")).toContain(`scalerAddress: ${host}`);
      expect(at(find(objects, "Service", service), "spec", "ports", 0, "port")).toBe(9813);
    },
  );

  it("says what to expect, and names each of its files", () => {
    const text = textOf(example, "README.md");
    expect(text).toContain("## What to expect");
    const files = readdirSync(join(EXAMPLES, example)).filter((file) => file !== "README.md");
    for (const file of files) expect(text).toContain(`(${file})`);
  });
});

const binaries = kubebuilderAssets();

describe.skipIf(binaries === undefined)("a real API server", () => {
  let server: ApiServer;

  beforeAll(async () => {
    server = await startApiServerWithApplications(binaries!);
  }, 120_000);
  afterAll(() => server?.stop());

  it.each(NAMES)("admits the Application of examples/%s, unknown fields forbidden", async (example) => {
    const object = ApplicationObject.parse(parse(textOf(example, "application.yaml")));
    const { namespace } = object.metadata;
    await server.call("POST", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    const path = `/apis/tradewind.dev/v1alpha1/namespaces/${namespace}/applications?fieldValidation=Strict`;
    const { body, status } = await server.call("POST", path, object);
    expect({ message: body.message, status }).toEqual({ message: undefined, status: 201 });
  });
});
