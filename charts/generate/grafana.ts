/** The part of Grafana's dashboard model that is used here; https://grafana.com/docs/grafana/latest/dashboards/json-model. */

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** What it shows, and what to make of it. */
  readonly description: string;
  readonly kind: "timeseries" | "stat" | "heatmap" | "state-timeline" | "table";
  readonly queries: readonly Query[];
  readonly unit?: string;
  /** Columns of 24. */
  readonly width?: number;
  readonly height?: number;
  readonly max?: number;
  readonly stacked?: boolean;
  /** Value from which on it is drawn in red. */
  readonly alarmFrom?: number;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  readonly query: string;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
const COLUMNS = 24;
const LETTERS = "ABCDEFGH";

/** The dashboard as Grafana imports it. */
export function grafanaJson({ uid, title, description, variables, rows }: Dashboard): unknown {
  return {
    uid,
    title,
    description,
    tags: ["tradewind"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    timezone: "browser",
    links: [
      {
        type: "dashboards",
        tags: ["tradewind"],
        title: "Tradewind",
        asDropdown: true,
        includeVars: true,
        keepTime: true,
      },
    ],
    annotations: { list: [] },
    templating: {
      list: [
        { type: "datasource", name: "datasource", label: "Data source", query: "prometheus" },
        ...variables.map(variableJson),
      ],
    },
    panels: layOut(rows),
  };
}

const variableJson = ({ name, label, query }: Variable): unknown => ({
  type: "query",
  name,
  label,
  datasource: DATASOURCE,
  definition: query,
  query: { query, refId: name },
  refresh: 2,
  sort: 1,
  includeAll: true,
  multi: true,
  allValue: ".*",
  current: { text: "All", value: "$__all" },
});

/** Puts panels beside each other until a line is full. */
function layOut(rows: readonly Row[]): unknown[] {
  const panels: unknown[] = [];
  let y = 0;
  let id = 1;
  for (const row of rows) {
    panels.push({
      id: id++,
      type: "row",
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { h: 1, w: COLUMNS, x: 0, y },
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const panel of row.panels) {
      const { width: w = 12, height: h = 8 } = panel;
      if (x + w > COLUMNS) {
        y += lineHeight;
        x = 0;
        lineHeight = 0;
      }
      panels.push({ ...panelJson(panel), id: id++, gridPos: { h, w, x, y } });
      x += w;
      lineHeight = Math.max(lineHeight, h);
    }
    y += lineHeight;
  }
  return panels;
}

function panelJson({
  alarmFrom,
  description,
  kind,
  max,
  queries,
  stacked,
  title,
  unit,
}: Panel): Record<string, unknown> {
  const steps = [
    { color: "green", value: null },
    ...(alarmFrom === undefined ? [] : [{ color: "red", value: alarmFrom }]),
  ];
  return {
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: LETTERS[index],
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(kind === "heatmap" ? { format: "time_series" } : {}),
      ...(kind === "stat" || kind === "table" ? { instant: true } : {}),
      ...(kind === "table" ? { format: "table" } : {}),
    })),
    fieldConfig: {
      defaults: {
        unit: unit ?? "short",
        min: 0,
        ...(max === undefined ? {} : { max }),
        thresholds: { mode: "absolute", steps },
        ...(kind === "timeseries"
          ? {
              custom: {
                lineWidth: 1,
                fillOpacity: stacked === true ? 40 : 0,
                spanNulls: false,
                ...(stacked === true && { stacking: { mode: "normal" } }),
              },
            }
          : {}),
        ...(kind === "state-timeline" ? { color: { mode: "continuous-GrYlRd" } } : {}),
      },
      overrides: [],
    },
    options: OPTIONS[kind],
  };
}

const OPTIONS = {
  timeseries: {
    legend: { displayMode: "list", placement: "bottom" },
    tooltip: { mode: "multi", sort: "desc" },
  },
  stat: {
    reduceOptions: { calcs: ["lastNotNull"] },
    colorMode: "background",
    graphMode: "none",
    textMode: "auto",
  },
  heatmap: { calculate: false, color: { mode: "scheme", scheme: "Oranges" }, cellGap: 1 },
  "state-timeline": {
    showValue: "never",
    mergeValues: false,
    legend: { displayMode: "list", placement: "bottom" },
  },
  table: { showHeader: true },
} as const;
