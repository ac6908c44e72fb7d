/** The part of Grafana's dashboard model that is used here; https://grafana.com/docs/grafana/latest/dashboards/json-model. */

export interface Query {
  readonly expr: string;
  /** What a series is called; in a table, the heading of its column. */
  readonly legend: string;
  /** Of a table's column. */
  readonly unit?: string;
}

export interface Panel {
  readonly title: string;
  /** What it shows, and what to make of it. */
  readonly description: string;
  readonly kind: "timeseries" | "stat" | "state-timeline" | "table";
  readonly queries: readonly Query[];
  readonly unit?: string;
  /** Columns of 24. */
  readonly width?: number;
  readonly height?: number;
  readonly max?: number;
  readonly stacked?: boolean;
  /** Value from which on it is drawn in red. */
  readonly alarmFrom?: number;
  /** Value under which it is drawn in red. */
  readonly goodFrom?: number;
  /** A series for each service or node: the legend is a list that scrolls, the largest first. */
  readonly isMany?: boolean;
  /** A stat that shows what its series are called, because their value is only ever 1. */
  readonly shows?: "name";
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** What the reader chooses: of the values of a label, any number, or one of a few numbers. */
export type Variable = { readonly name: string; readonly label: string } & (
  { readonly query: string } | { readonly choices: readonly [string, ...string[]] }
);

/** A mark over all panels for as long as a query has values. */
export interface Annotation {
  readonly name: string;
  readonly expr: string;
  /** With the labels of a series in `{{}}`. */
  readonly title: string;
  readonly text: string;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly annotations?: readonly Annotation[];
  readonly rows: readonly Row[];
}

const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
const COLUMNS = 24;
const LETTERS = "ABCDEFGHIJKL";

/** The dashboard as Grafana imports it. */
export function grafanaJson(dashboard: Dashboard): unknown {
  const { annotations = [], uid, title, description, variables, rows } = dashboard;
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
    annotations: { list: annotations.map(annotationJson) },
    templating: {
      list: [
        { type: "datasource", name: "datasource", label: "Data source", query: "prometheus" },
        ...variables.map(variableJson),
      ],
    },
    panels: layOut(rows),
  };
}

/** Values of neighbouring steps are one mark from the first to the last of them. */
function annotationJson({ expr, name, text, title }: Annotation): unknown {
  return {
    name,
    datasource: DATASOURCE,
    enable: true,
    iconColor: "red",
    expr,
    step: "30s",
    titleFormat: title,
    textFormat: text,
    tagKeys: "application,service,type",
  };
}

function variableJson(variable: Variable): unknown {
  const { label, name } = variable;
  if ("query" in variable) return { ...labelValues(variable.query), name, label };
  const [first] = variable.choices;
  const query = variable.choices.join(",");
  return { type: "custom", name, label, query, current: { text: first, value: first } };
}

const labelValues = (query: string): object => ({
  type: "query",
  datasource: DATASOURCE,
  definition: query,
  query: { query, refId: "values" },
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

function panelJson(panel: Panel): Record<string, unknown> {
  const { description, kind, queries, title } = panel;
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
      ...(kind === "stat" || kind === "table" ? { instant: true } : {}),
      ...(kind === "table" ? { format: "table" } : {}),
    })),
    fieldConfig: { defaults: fieldDefaults(panel), overrides: kind === "table" ? columnUnits(queries) : [] },
    options: optionsOf(panel),
    ...(kind === "table" ? { transformations: oneTable(queries) } : {}),
  };
}

function fieldDefaults({ alarmFrom, goodFrom, kind, max, stacked, unit }: Panel): object {
  const base = goodFrom === undefined ? "green" : "red";
  const steps = [
    { color: base, value: null },
    ...(goodFrom === undefined ? [] : [{ color: "green", value: goodFrom }]),
    ...(alarmFrom === undefined ? [] : [{ color: "red", value: alarmFrom }]),
  ];
  const custom = {
    lineWidth: 1,
    fillOpacity: stacked === true ? 40 : 0,
    spanNulls: false,
    ...(stacked === true && { stacking: { mode: "normal" } }),
    ...(alarmFrom !== undefined && { thresholdsStyle: { mode: "line" } }),
  };
  return {
    unit: unit ?? "short",
    ...(goodFrom === undefined && { min: 0 }),
    ...(max !== undefined && { max }),
    thresholds: { mode: "absolute", steps },
    ...(kind === "timeseries" && { custom }),
    ...(kind === "table" && { custom: { filterable: true } }),
    ...(kind === "state-timeline" && { color: { mode: "continuous-GrYlRd" } }),
  };
}

/** The instant answers of several queries as one table: a line for each set of labels, a column for each query. */
const oneTable = (queries: readonly Query[]): unknown[] => [
  { id: "merge", options: {} },
  {
    id: "organize",
    options: {
      excludeByName: { Time: true },
      renameByName: Object.fromEntries(
        queries.map(({ legend }, index) => [`Value #${LETTERS[index] ?? ""}`, legend]),
      ),
    },
  },
];

const columnUnits = (queries: readonly Query[]): unknown[] =>
  queries.flatMap(({ legend, unit }) =>
    unit === undefined
      ? []
      : [{ matcher: { id: "byName", options: legend }, properties: [{ id: "unit", value: unit }] }],
  );

function optionsOf({ isMany, kind, shows }: Panel): object {
  if (kind === "stat") return { ...OPTIONS.stat, textMode: shows ?? "auto" };
  if (kind === "timeseries" && isMany === true) return { ...OPTIONS.timeseries, legend: LONG_LEGEND };
  return OPTIONS[kind];
}

const LONG_LEGEND = {
  displayMode: "table",
  placement: "right",
  calcs: ["lastNotNull", "max"],
  sortBy: "Max",
  sortDesc: true,
};

const OPTIONS = {
  timeseries: {
    legend: { displayMode: "list", placement: "bottom" },
    tooltip: { mode: "multi", sort: "desc" },
  },
  stat: { reduceOptions: { calcs: ["lastNotNull"] }, colorMode: "background", graphMode: "none" },
  "state-timeline": {
    showValue: "never",
    mergeValues: false,
    legend: { displayMode: "list", placement: "bottom" },
  },
  table: { showHeader: true, cellHeight: "sm" },
} as const;
