/** Writes the chart's generated files: `node charts/generate/main.ts`. A test fails while they are out of date. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { generatedFiles } from "./files.ts";

const chart = join(dirname(import.meta.dirname), "tradewind");
for (const [path, content] of generatedFiles(chart)) {
  const file = join(chart, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
