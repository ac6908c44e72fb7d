import { z } from "zod";

/** A node of an OpenAPI v3 schema. */
export interface OpenApiSchema {
  type?: string;
  properties?: Record<string, OpenApiSchema>;
  items?: OpenApiSchema;
  [keyword: string]: unknown;
}

/** A rule in CEL, checked by the API server. */
export interface Validation {
  readonly rule: string;
  readonly message: string;
}

/** What a schema library cannot say: by the path of a field, `spec.services[].cpu`. */
export interface Extensions {
  readonly validations: Readonly<Record<string, readonly Validation[]>>;
  /** Lists whose items are told apart by these fields. */
  readonly keyedLists: Readonly<Record<string, readonly string[]>>;
}

/** Keywords that a structural schema must not hold in this form; they say nothing that is not said otherwise. */
const DROPPED = new Set(["additionalProperties", "propertyNames", "$schema"]);
/** Keywords that a structural schema cannot express where zod would use them. */
const REFUSED = new Set(["anyOf", "oneOf", "allOf", "not", "$ref"]);
const KEYWORDS = new Set([
  "type",
  "format",
  "description",
  "default",
  "enum",
  "properties",
  "required",
  "items",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems",
  "nullable",
  "multipleOf",
]);

/**
 * The structural schema (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/)
 * of a zod schema's input: what may be written, with defaults.
 * @throws TypeError naming the path that Kubernetes cannot express
 */
export function structuralSchema(schema: z.ZodType, path: string, extensions: Extensions): OpenApiSchema {
  const json = z.toJSONSchema(schema, { target: "openapi-3.0", io: "input", unrepresentable: "throw" });
  return structural(json as OpenApiSchema, path, extensions);
}

function structural(schema: OpenApiSchema, path: string, extensions: Extensions): OpenApiSchema {
  const result: OpenApiSchema = {};
  const additional = schema["additionalProperties"];
  for (const [keyword, value] of Object.entries(schema)) {
    if (REFUSED.has(keyword)) throw new TypeError(`${path}: '${keyword}' has no structural form`);
    if (DROPPED.has(keyword) || isUnbounded(keyword, value)) continue;
    if (!KEYWORDS.has(keyword)) throw new TypeError(`${path}: unknown keyword '${keyword}'`);
    result[keyword] = value;
  }
  if (schema.type === "integer") result["format"] = "int64";
  if (schema.properties !== undefined) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, part]) => [
        name,
        structural(part, `${path}.${name}`, extensions),
      ]),
    );
  }
  if (isPlainObject(result["default"])) result["default"] = completed(result["default"], result);
  if (schema.items !== undefined) result.items = structural(schema.items, `${path}[]`, extensions);
  if (schema.properties === undefined && typeof additional === "object" && additional !== null) {
    result["additionalProperties"] = structural(additional as OpenApiSchema, `${path}{}`, extensions);
  }
  const keys = extensions.keyedLists[path];
  if (keys !== undefined) {
    result["x-kubernetes-list-type"] = "map";
    result["x-kubernetes-list-map-keys"] = keys;
  }
  const validations = extensions.validations[path];
  if (validations !== undefined) result["x-kubernetes-validations"] = validations;
  return result;
}

type Json = Record<string, unknown>;

function isPlainObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A default with the defaults of its fields: the API server checks its rules against the default as it stands. */
function completed(given: Json, schema: OpenApiSchema): Json {
  const all: Json = { ...given };
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const value = all[name] ?? part["default"];
    if (value === undefined) continue;
    all[name] = isPlainObject(value) ? completed(value, part) : value;
  }
  return all;
}

/** Bounds that only say "fits into a JavaScript number". */
function isUnbounded(keyword: string, value: unknown): boolean {
  return (
    (keyword === "maximum" || keyword === "minimum") &&
    typeof value === "number" &&
    Math.abs(value) === Number.MAX_SAFE_INTEGER
  );
}
