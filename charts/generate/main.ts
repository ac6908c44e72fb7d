/**
 * Writes the chart's generated files: `node charts/generate/main.ts`. A test fails while they are out of date.
 *
 * `node charts/generate/main.ts picture DASHBOARD PROMETHEUS MINUTES > page.html` draws a dashboard's panels from what a
 * Prometheus holds of the last minutes.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DASHBOARDS } from "./dashboards/list.ts";
import { generatedFiles } from "./files.ts";
import { pictureHtml } from "./picture.ts";

const [what, name = "", prometheus = "http://127.0.0.1:9090", minutes = "10"] = process.argv.slice(2);
if (what === "picture") {
  const dashboard = DASHBOARDS[name];
  if (dashboard === undefined)
    throw new Error(`there are ${Object.keys(DASHBOARDS).join(", ")}, no '${name}'`);
  const to = Date.now() / 1e3;
  process.stdout.write(await pictureHtml(dashboard, { prometheus, from: to - 60 * Number(minutes), to }));
} else {
  const chart = join(dirname(import.meta.dirname), "tradewind");
  for (const [path, content] of generatedFiles(chart)) {
    const file = join(chart, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}
