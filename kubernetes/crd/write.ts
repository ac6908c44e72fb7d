/** Writes the chart's CustomResourceDefinition and the JSON Schema for editors: `npm run crd`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { schemaText } from "./application-schema.ts";
import { CRD_PATH, crdText, SCHEMA_PATH } from "./crd-file.ts";

mkdirSync(dirname(CRD_PATH), { recursive: true });
writeFileSync(CRD_PATH, crdText());
writeFileSync(SCHEMA_PATH, schemaText());
process.stdout.write(`wrote ${CRD_PATH} and ${SCHEMA_PATH}\n`);
