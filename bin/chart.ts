/**
 * Packages the chart as it is released: `npm run chart -- --registry ghcr.io/owner --source https://…/tradewind --output DIR`. The chart
 * in the repository names no registry and no address, since it belongs to whoever builds it; the package names both.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseDocument } from "yaml";

const root = dirname(import.meta.dirname);

/** @returns the YAML with these values at these paths, and every comment where it was */
function withValues(
  text: string,
  values: readonly (readonly [path: readonly string[], value: unknown])[],
): string {
  const document = parseDocument(text);
  for (const [path, value] of values) document.setIn(path, value);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function change(file: string, values: Parameters<typeof withValues>[1]): void {
  writeFileSync(file, withValues(readFileSync(file, "utf8"), values));
}

const { values } = parseArgs({
  options: {
    registry: { type: "string" },
    source: { type: "string" },
    output: { type: "string", default: "." },
  },
});
const { registry, source } = values;
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const folder = mkdtempSync(join(tmpdir(), "tradewind-chart-"));
try {
  const chart = join(folder, "tradewind");
  cpSync(join(root, "charts", "tradewind"), chart, { recursive: true });
  if (registry !== undefined)
    change(join(chart, "values.yaml"), [[["global", "image", "registry"], registry]]);
  if (source !== undefined) {
    change(join(chart, "Chart.yaml"), [
      [["home"], source],
      [["sources"], [source]],
    ]);
  }
  const args = ["package", chart, "--version", version, "--app-version", version];
  const { error, status } = spawnSync("helm", [...args, "--destination", resolve(values.output)], {
    stdio: "inherit",
  });
  if (error !== undefined) console.error(`chart: helm did not run: ${error.message}`);
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
