import { z } from "zod";
import { ApplicationFields } from "@tradewind/core/contract/application.ts";
import { apiVersionOf, RESOURCES } from "../client/resources.ts";

/** What an editor checks an Application resource against, and completes it by: JSON Schema 2020-12. */
export function applicationSchema(): Record<string, unknown> {
  const { applications } = RESOURCES;
  const fields = ApplicationFields.omit({ name: true, namespace: true });
  const { $schema, ...spec } = z.toJSONSchema(fields, {
    io: "input",
    unrepresentable: "throw",
    // Classes of Unicode are read by some editors' expressions, and refuse everything in others.
    override: ({ jsonSchema }) => {
      if (jsonSchema.pattern?.includes("\\p{") === true) delete jsonSchema.pattern;
    },
  });
  return {
    $schema,
    title: `${applications.kind} of Tradewind`,
    type: "object",
    required: ["apiVersion", "kind", "metadata", "spec"],
    properties: {
      apiVersion: { const: apiVersionOf(applications) },
      kind: { const: applications.kind },
      metadata: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string" }, namespace: { type: "string" } },
      },
      spec,
      status: { type: "object" },
    },
    additionalProperties: false,
  };
}

export const schemaText = (): string => `${JSON.stringify(applicationSchema(), undefined, 2)}\n`;
