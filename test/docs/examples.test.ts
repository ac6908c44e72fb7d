import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { ApplicationFields } from "@tradewind/core/contract/application.ts";
import { applicationSchema } from "@tradewind/kubernetes/crd/application-schema.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { SourcesConfig } from "@tradewind/predictor/sources/sources-config.ts";
import { StoreOptions } from "@tradewind/predictor/store/options.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

interface Example {
  /** The file, and the line in it where the example begins. */
  readonly place: string;
  readonly value: unknown;
}

function documentsIn(text: string, place: string): Example[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (!("errors" in document)) return [];
    expect({ place, errors: document.errors }).toEqual({ place, errors: [] });
    const value = document.toJS() as unknown;
    return value === null ? [] : [{ place, value }];
  });
}

const inPages = globSync(["*.md", "docs/*.md", "charts/tradewind/README.md", "examples/**/*.md"], {
  cwd: ROOT,
})
  .sort()
  .flatMap((file) => {
    const text = read(file);
    return [...text.matchAll(/^```yaml\n([^`]*)```/gm)].flatMap(({ 1: block = "", index }) =>
      documentsIn(block, `${file}:${text.slice(0, index).split("\n").length + 1}`),
    );
  });
const inFiles = globSync(
  [
    "examples/**/*.yaml",
    "charts/tradewind/ci/*.yaml",
    "charts/tradewind/values.yaml",
    "test/golden/init/*.yaml",
  ],
  { cwd: ROOT },
)
  .sort()
  .flatMap((file) => documentsIn(read(file), file));

const jsonSchema = (schema: object): z.ZodType =>
  z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
const application = jsonSchema(applicationSchema());
/** Without conditions between values, which Helm itself holds values to: zod knows none. */
const values = jsonSchema(
  JSON.parse(read("charts/tradewind/values.schema.json"), (key, value: unknown) =>
    ["if", "then", "else"].includes(key) ? undefined : value,
  ) as object,
);

/** Fields of an Application, or of the file beside it, of which an example may show a part. */
const fields = ApplicationFields.extend({ sources: SourcesConfig, store: StoreOptions }).partial();
/** Settings of one source, without where it is. */
const source = z
  .record(z.string(), z.unknown())
  .pipe(
    z.preprocess(
      (settings) => ({ prometheus: [{ url: "http://here", ...(settings as object) }] }),
      SourcesConfig,
    ),
  );
const ofAnotherProgram = new Set([
  "exporters",
  "processors",
  "receivers",
  "ignoreDifferences",
  "data",
  "opentelemetry-collector",
]);

const keysOf = (value: unknown): string[] => Object.keys(value as object);
const isOf = (schema: z.ZodObject, value: unknown): boolean =>
  keysOf(value).every((key) => key in schema.shape);

/** What an example has to satisfy; undefined where it is of another program; a word where nobody knows. */
function schemaFor(value: unknown): z.ZodType | "unknown" | undefined {
  const { apiVersion, spec } = value as { apiVersion?: unknown; spec?: unknown };
  if (apiVersion === "tradewind.dev/v1alpha1") return application;
  if (apiVersion !== undefined || keysOf(value).some((key) => ofAnotherProgram.has(key))) return undefined;
  if (spec !== undefined && keysOf(value).length === 1)
    return isOf(fields, spec) ? z.strictObject({ spec: fields }) : undefined;
  if (isOf(fields, value)) return fields;
  if (isOf(SourcesConfig, value)) return SourcesConfig;
  if (keysOf(value).every((key) => CHART_VALUES.has(key))) return values;
  return isOf(PrometheusOptions, value) ? source : "unknown";
}
const CHART_VALUES = new Set(keysOf(parseValues()));

function parseValues(): unknown {
  return documentsIn(read("charts/tradewind/values.yaml"), "values.yaml")[0]?.value;
}

it("every example of documentation, chart and examples is taken by the schema of what it shows", () => {
  const refused = [...inPages, ...inFiles].flatMap(({ place, value }) => {
    const schema = schemaFor(value);
    if (schema === undefined) return [];
    if (schema === "unknown") return [{ place, why: `${keysOf(value).join(", ")}: of no schema` }];
    const { error } = schema.safeParse(value);
    return error === undefined ? [] : [{ place, why: z.prettifyError(error) }];
  });
  expect(refused).toEqual([]);
});

it("examples of Applications, of sources and of the chart are among them", () => {
  const kinds = Map.groupBy([...inPages, ...inFiles], ({ value }) => schemaFor(value));
  for (const schema of [application, values, fields, SourcesConfig])
    expect(kinds.get(schema)?.length ?? 0).toBeGreaterThan(2);
});
