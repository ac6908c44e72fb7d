import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { applicationCrd } from "./application-crd.ts";

/** Where the chart holds the definition. */
export const CRD_PATH = fileURLToPath(
  new URL("../../charts/tradewind/crds/applications.tradewind.dev.yaml", import.meta.url),
);

/** Where editors find the schema of an Application. */
export const SCHEMA_PATH = fileURLToPath(new URL("../../docs/application.schema.json", import.meta.url));

const HEADER = "# Made from core/contract/application.ts by `npm run crd`; a test holds it up to date.\n";

/** The definition as YAML, with the keys of objects in the order they were made. */
export function crdText(): string {
  return HEADER + stringify(applicationCrd(), { lineWidth: 110, aliasDuplicateObjects: false });
}
