import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { schemaText } from "@tradewind/kubernetes/crd/application-schema.ts";
import { SCHEMA_PATH } from "@tradewind/kubernetes/crd/crd-file.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const schema = z.fromJSONSchema(JSON.parse(schemaText()) as Parameters<typeof z.fromJSONSchema>[0]);
const isApplication = (value: unknown): boolean =>
  (value as { apiVersion?: unknown } | null)?.apiVersion === "tradewind.dev/v1alpha1";

/** Every Application in files of examples and in YAML blocks of the documentation. */
const written = [
  ...globSync(["examples/**/*.yaml", "test/golden/init/*.yaml"], { cwd: ROOT }).flatMap((file) =>
    parseAllDocuments(readFileSync(join(ROOT, file), "utf8")).map((document): [string, unknown] => [
      file,
      document.toJS(),
    ]),
  ),
  ...globSync(["README.md", "docs/*.md", "charts/tradewind/README.md", "examples/**/*.md"], {
    cwd: ROOT,
  }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), "utf8").matchAll(/```yaml\n([^`]*)```/g)].flatMap(([, block = ""]) =>
      parseAllDocuments(block, { logLevel: "silent" })
        .filter((document) => "errors" in document && document.errors.length === 0)
        .map((document): [string, unknown] => [file, document.toJS()]),
    ),
  ),
].filter(([, value]) => isApplication(value));

describe("the JSON Schema of an Application", () => {
  it("in docs is the one made from the configuration's schema; run `npm run crd` when it is not", () => {
    expect(readFileSync(SCHEMA_PATH, "utf8")).toBe(schemaText());
  });

  it("takes every Application of examples and documentation", () => {
    expect(written.length).toBeGreaterThan(3);
    const refused = written.flatMap(([file, value]) => {
      const { error } = schema.safeParse(value);
      return error === undefined ? [] : [{ file, issues: error.issues }];
    });
    expect(refused).toEqual([]);
  });

  it.each([
    ["a field that is none", "spec: { entry: web, objective: { milliseconds: 250 }, entri: web }"],
    ["an objective with a unit", "spec: { entry: web, objective: { milliseconds: 250ms } }"],
    ["an unknown mode", "spec: { entry: web, objective: { milliseconds: 250 }, mode: actt }"],
    ["a service without a name", "spec: { entry: web, services: [{ minReplicas: 2 }] }"],
  ])("refuses %s", (_, spec) => {
    const object = { apiVersion: "tradewind.dev/v1alpha1", kind: "Application", metadata: { name: "shop" } };
    expect(schema.safeParse({ ...object, ...(parse(spec) as object) }).success).toBe(false);
  });
});
