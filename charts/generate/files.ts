import { DASHBOARDS } from "./dashboards.ts";
import { grafanaJson } from "./grafana.ts";
import { valuesSchema } from "./values-schema.ts";

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The files of the chart that are made from TypeScript, by their path inside the chart. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const dashboards = Object.entries(DASHBOARDS).map(
    ([name, dashboard]) => [`dashboards/${name}.json`, json(grafanaJson(dashboard))] as const,
  );
  return new Map([["values.schema.json", json(valuesSchema())], ...dashboards]);
}
