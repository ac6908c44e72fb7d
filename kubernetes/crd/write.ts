/** Writes the chart's CustomResourceDefinition: `npm run crd`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CRD_PATH, crdText } from "./crd-file.ts";

mkdirSync(dirname(CRD_PATH), { recursive: true });
writeFileSync(CRD_PATH, crdText());
process.stdout.write(`wrote ${CRD_PATH}\n`);
