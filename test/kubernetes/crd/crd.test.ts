import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { applicationCrd } from "@tradewind/kubernetes/crd/application-crd.ts";
import { CRD_PATH, crdText } from "@tradewind/kubernetes/crd/crd-file.ts";
import { ApplicationStatus, MAX_STATUS_SERVICES } from "@tradewind/kubernetes/crd/status.ts";
import { structuralSchema } from "@tradewind/kubernetes/crd/structural-schema.ts";
import type { OpenApiSchema } from "@tradewind/kubernetes/crd/structural-schema.ts";

const NO_EXTENSIONS = { validations: {}, keyedLists: {} };

interface Crd {
  spec: {
    versions: {
      schema: { openAPIV3Schema: OpenApiSchema };
      additionalPrinterColumns: { name: string; jsonPath: string }[];
    }[];
  };
}
const [version] = (applicationCrd() as unknown as Crd).spec.versions;
const schema = version!.schema.openAPIV3Schema;

describe("the definition of Application", () => {
  it("in the chart is the one made from the configuration's schema; run `npm run crd` when it is not", () => {
    expect(readFileSync(CRD_PATH, "utf8")).toBe(crdText());
    expect(parse(crdText())).toEqual(JSON.parse(JSON.stringify(applicationCrd())));
  });

  it("asks for entry and objective and gives defaults to everything else", () => {
    const spec = schema.properties!["spec"]!;
    expect(spec).not.toHaveProperty("required");
    const rules = spec["x-kubernetes-validations"] as readonly { readonly message: string }[];
    expect(rules.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^entry is missing/),
        expect.stringMatching(/^the objective of all routes that none of objectives names is given once/),
      ]),
    );
    expect(spec.properties).not.toHaveProperty("namespace");
    const cpu = spec.properties!["services"]!.items!.properties!["cpu"]!;
    expect(cpu["default"]).toEqual({ minCores: 0.05, maxCores: 8, stepCores: 0.2 });
  });

  it("describes every field, for kubectl explain", () => {
    const undescribed = (node: OpenApiSchema, path: string): string[] => {
      const below = Object.entries(node.properties ?? {}).flatMap(([name, part]) => [
        ...(typeof part["description"] === "string" ? [] : [`${path}.${name}`]),
        ...undescribed(part, `${path}.${name}`),
      ]);
      return node.items === undefined ? below : [...below, ...undescribed(node.items, `${path}[]`)];
    };
    // An API server describes it itself, and refuses another description.
    expect(undescribed(schema, "")).toEqual([".metadata"]);
  });

  it("has columns that exist in the schema", () => {
    const places = version!.additionalPrinterColumns.map(({ jsonPath }) => jsonPath);
    for (const place of places.filter((each) => !each.startsWith(".metadata"))) {
      const path = place
        .replace(/\[\?\(@\.type=="\w+"\)\]/, "[]")
        .split(".")
        .slice(1);
      let node: OpenApiSchema | undefined = schema;
      for (const name of path) {
        node = node?.properties?.[name.replace("[]", "")];
        if (name.endsWith("[]")) node = node?.items;
      }
      expect({ place, type: node?.type }).toEqual({ place, type: expect.any(String) as string });
    }
  });

  it("leaves room for the largest status in etcd's 1.5 MB", () => {
    const service = {
      name: "service-with-a-rather-long-name".padEnd(60, "x"),
      namespace: "namespace-with-a-name",
      workload: { kind: "Deployment", name: "service-with-a-rather-long-name".padEnd(60, "x") },
      replicasReady: 100,
      replicas: 100,
      cpu: "1500m",
      memory: "2048Mi",
      policy: "planner" as const,
      confidence: 0.75,
      currentMilliseconds: 1_000,
      predictedMilliseconds: 1_000,
      reason: "x".repeat(300),
      guard: ["missing-data", "restart-grace"],
      valid: true,
      decidedAt: new Date(0).toISOString(),
      decisionId: "x".repeat(30),
    };
    const services = Array.from({ length: MAX_STATUS_SERVICES }, () => service);
    const status = ApplicationStatus.parse({ conditions: [], services });
    expect(JSON.stringify(status).length).toBeLessThan(1_000_000);
  });
});

describe("structuralSchema", () => {
  it("says what Kubernetes cannot express instead of leaving it out", () => {
    const either = z.object({ a: z.union([z.string(), z.number()]) });
    expect(() => structuralSchema(either, "spec", NO_EXTENSIONS)).toThrow(
      /spec\.a: 'anyOf' has no structural form/,
    );
  });

  it("keeps bounds, patterns, enums and defaults, and completes defaults of objects", () => {
    const made = structuralSchema(
      z.strictObject({
        mode: z.enum(["a", "b"]).default("a"),
        count: z.number().int().min(0).max(5),
        labels: z.record(z.string(), z.string()).optional(),
        inner: z.strictObject({ x: z.number().positive().default(2) }).prefault({}),
      }),
      "spec",
      NO_EXTENSIONS,
    );
    expect(made).toEqual({
      type: "object",
      required: ["count"],
      properties: {
        mode: { type: "string", enum: ["a", "b"], default: "a" },
        count: { type: "integer", format: "int64", minimum: 0, maximum: 5 },
        labels: { type: "object", additionalProperties: { type: "string" } },
        inner: {
          type: "object",
          default: { x: 2 },
          properties: { x: { type: "number", minimum: 0, exclusiveMinimum: true, default: 2 } },
        },
      },
    });
  });
});
