import { atAll } from "./grafana.ts";
import type { Dashboard, Panel, Query } from "./grafana.ts";
import { axisText, chartSvg, escapeText, stateSvg, strokeOf } from "./picture-svg.ts";
import type { Line } from "./picture-svg.ts";

/** Points across a chart. */
const POINTS = 240;

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [number, string])[];
  readonly value?: readonly [number, string];
}

/** What a picture shows of which Prometheus. */
export interface PictureOptions {
  readonly prometheus: string;
  /** Seconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

/**
 * One dashboard as a page of its own, every panel drawn from the answers of a real Prometheus: what Grafana would query,
 * where there is no Grafana. All variables are at "All".
 * @throws Error when a query is refused
 */
export async function pictureHtml(dashboard: Dashboard, options: PictureOptions): Promise<string> {
  const rows: string[] = [];
  for (const row of dashboard.rows) {
    const panels = await Promise.all(row.panels.map(async (panel) => panelHtml(panel, options)));
    rows.push(`<h2>${escapeText(row.title)}</h2><section>${panels.join("")}</section>`);
  }
  return `<!doctype html><meta charset="utf-8"><title>${escapeText(dashboard.title)}</title><style>${STYLE}</style>
<h1>${escapeText(dashboard.title)} <small>${escapeText(dashboard.description)}</small></h1>${rows.join("")}`;
}

const STYLE = `body{font:12px/1.35 system-ui,sans-serif;margin:16px;background:#f4f5f5;color:#24292e}
h1{font-size:18px;margin:0 0 4px}h1 small{font-weight:400;color:#57606a;font-size:13px}h2{font-size:13px;margin:10px 0 4px}
section{display:grid;grid-template-columns:repeat(24,1fr);gap:6px}
article{background:#fff;border:1px solid #d8dadd;border-radius:3px;padding:6px 8px;overflow:hidden}
h3{font-size:12px;margin:0 0 4px;font-weight:600}
.stat{font-size:24px;font-weight:600;color:#1a7f37}.stat.alarm{color:#cf222e}.stat small{font-size:12px;color:#57606a;font-weight:400}
ul{list-style:none;margin:2px 0 0;padding:0;display:flex;flex-wrap:wrap;gap:0 10px;max-height:32px;overflow:hidden;color:#57606a}
li i{display:inline-block;width:14px;height:0;margin-right:4px;vertical-align:middle}svg{display:block;width:100%}
table{width:100%;border-collapse:collapse}td{text-align:right;padding:1px 6px}th{font-weight:400;color:#57606a;text-align:right}
th:first-child{text-align:left}tr+tr{border-top:1px solid #eaecef}.none{color:#8c959f;padding:20px 0;text-align:center}`;

async function panelHtml(panel: Panel, options: PictureOptions): Promise<string> {
  const { title, kind, width = 12, height = 8 } = panel;
  const answers = await Promise.all(
    panel.queries.map(async (query, index) => lines(query, index, kind, options)),
  );
  const found = answers.flat();
  const body =
    found.length === 0
      ? '<p class="none">No data</p>'
      : kind === "stat"
        ? found.map((line) => statHtml(line, panel)).join("")
        : kind === "table"
          ? tableHtml(found, panel)
          : chart(found, panel, options, height * 24 - 40) + legend(found, kind);
  return `<article style="grid-column:span ${width}"><h3>${escapeText(title)}</h3>${body}</article>`;
}

const chart = (found: readonly Line[], panel: Panel, { from, to }: PictureOptions, height: number): string =>
  (panel.kind === "state-timeline" ? stateSvg : chartSvg)(found, {
    from,
    to,
    height,
    width: (panel.width ?? 12) * 56 - 20,
    unit: panel.unit,
    max: panel.max,
    stacked: panel.stacked === true,
  });

function statHtml(
  { name, points }: Line,
  { alarmFrom = Infinity, goodFrom = -Infinity, shows, unit }: Panel,
): string {
  const value = points.at(-1)?.[1] ?? Number.NaN;
  const isAlarm = value >= alarmFrom || value < goodFrom;
  const text = shows === "name" ? escapeText(name) : axisText(value, unit);
  const small = shows === "name" ? "" : ` <small>${escapeText(name)}</small>`;
  return `<div class="stat${isAlarm ? " alarm" : ""}">${text}${small}</div>`;
}

function tableHtml(found: readonly Line[], { queries }: Panel): string {
  const names = [...new Set(found.map(({ name }) => name))].sort();
  const cell = (name: string, index: number): string => {
    const value = found.find((line) => line.query === index && line.name === name)?.points.at(-1)?.[1];
    return `<td>${value === undefined ? "" : axisText(value, queries[index]?.unit)}</td>`;
  };
  const rows = names.map(
    (name) => `<tr><th>${escapeText(name)}</th>${queries.map((_, index) => cell(name, index)).join("")}</tr>`,
  );
  const heads = queries.map(({ legend: heading }) => `<th>${escapeText(heading)}</th>`);
  return `<table><tr><th></th>${heads.join("")}</tr>${rows.join("")}</table>`;
}

function legend(found: readonly Line[], kind: Panel["kind"]): string {
  if (kind === "state-timeline") return "";
  const items = found.map(({ name }, index) => {
    const { colour, dash } = strokeOf(found, index);
    const style = `border-top:2px ${dash === "" ? "solid" : dash === "5 3" ? "dashed" : "dotted"} ${colour}`;
    return `<li><i style="${style}"></i>${escapeText(name)}</li>`;
  });
  return `<ul>${items.join("")}</ul>`;
}

async function lines(
  { expr, legend: template }: Query,
  index: number,
  kind: Panel["kind"],
  options: PictureOptions,
): Promise<Line[]> {
  const { from, to } = options;
  const isTable = kind === "table";
  const instant = isTable || kind === "stat";
  const query = atAll(expr, to - from);
  const range = { query, start: String(from), end: String(to), step: String((to - from) / POINTS) };
  const url = new URL(instant ? "/api/v1/query" : "/api/v1/query_range", options.prometheus);
  url.search = new URLSearchParams(instant ? { query, time: String(to) } : range).toString();
  const answer = (await (await fetch(url)).json()) as { error?: string; data?: { result: Series[] } };
  if (answer.data === undefined) throw new Error(`${expr}: ${answer.error ?? "no answer"}`);
  return answer.data.result.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
    query: index,
    name: isTable
      ? Object.values(metric).join("/")
      : template.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => metric[label] ?? ""),
    points: values.map(([at, text]) => [at, Number(text)] as const).filter(([, y]) => Number.isFinite(y)),
  }));
}
