import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DASHBOARDS } from "./dashboards/list.ts";
import { grafanaJson } from "./grafana.ts";
import { valuesSchema } from "./values-schema.ts";
import { valuesTable } from "./values-table.ts";

/** What stands under this heading of the README is generated. */
const HEADING = "\n## Values\n\n";

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The files of the chart that are made from TypeScript, by their path inside the chart. */
export function generatedFiles(chart: string): ReadonlyMap<string, string> {
  const read = (path: string): string => readFileSync(join(chart, path), "utf8");
  const [prose] = read("README.md").split(HEADING);
  const dashboards = Object.entries(DASHBOARDS).map(
    ([name, dashboard]) => [`dashboards/${name}.json`, json(grafanaJson(dashboard))] as const,
  );
  return new Map([
    ["values.schema.json", json(valuesSchema())],
    ["README.md", `${prose}${HEADING}${valuesTable(read("values.yaml"))}`],
    ...dashboards,
  ]);
}
