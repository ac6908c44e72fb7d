import type { BacktestReport } from "../backtest.ts";
import type { RouteValidation } from "../validate.ts";
import { chart, escapeHtml } from "./svg.ts";
import { LIMITS, milliseconds, percent, POLICY_COLUMNS, policyRows, time, trustOf } from "./words.ts";
import type { PolicyRow } from "./words.ts";

/** Points of a chart; longer series are thinned to the largest value of each stretch, so that no peak is lost. */
const MOST_POINTS = 600;

/** Of pages that need nothing from elsewhere. */
export const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--line:#d5dae0;--page:#fff;--a:#0969da;--b:#bc4c00;--c:#1a7f37}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--page:#0d1117;--a:#4493f8;--b:#f0883e;--c:#3fb950}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:1rem;margin-bottom:0}p.soft,figcaption{color:var(--soft)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right}
th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}.scroll{overflow-x:auto}
figure{margin:1rem 0}svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}
.grid{stroke:var(--line)}.mark{stroke:var(--b);stroke-dasharray:4 3}polyline{fill:none;stroke-width:1.5}
polyline.a{stroke:var(--a)}polyline.b{stroke:var(--b)}polyline.c{stroke:var(--c)}circle.a{fill:var(--a)}circle.b{fill:var(--b)}circle.c{fill:var(--c)}
.key span{margin-right:1rem}.key .a{color:var(--a)}.key .b{color:var(--b)}.key .c{color:var(--c)}`;

/** The largest value of each of at most {@link MOST_POINTS} stretches. */
function thinned(x: readonly number[], y: readonly number[]): { x: number[]; y: number[] } {
  const stretch = Math.max(1, Math.ceil(x.length / MOST_POINTS));
  const out = { x: [] as number[], y: [] as number[] };
  for (let from = 0; from < x.length; from += stretch) {
    out.x.push(x[from] ?? 0);
    out.y.push(Math.max(...y.slice(from, from + stretch)));
  }
  return out;
}

export function routeSection(route: RouteValidation, objectiveSeconds: number): string {
  const at = route.series.map(({ endMs }) => endMs);
  const measured = thinned(
    at,
    route.series.map((each) => 1e3 * each.measuredSeconds),
  );
  const predicted = thinned(
    at,
    route.series.map((each) => 1e3 * each.predictedSeconds),
  );
  const picture = chart(
    [
      { name: "measured", tone: "a", ...measured },
      { name: "predicted", tone: "b", ...predicted },
    ],
    {
      title: `measured and predicted p95 of ${route.route} over time`,
      x: { label: "time, UTC", format: (value) => time(value).slice(5) },
      y: {
        label: "p95, ms",
        format: (value) => `${value.toFixed(0)} ms`,
        mark: { value: 1e3 * objectiveSeconds, label: "objective" },
      },
    },
  );
  const rows = [
    ["all intervals", route.all],
    ["at the knee (p95 at least twice the calm median)", route.knee],
    ["a constant (median of the first part)", route.constant],
    ["the interval before", route.persistence],
  ] as const;
  const table = rows
    .map(
      ([name, { intervals, meanRatio, medianRatio }]) =>
        `<tr><td>${name}</td><td>${intervals}</td><td>${percent(meanRatio)}</td><td>${percent(medianRatio)}</td></tr>`,
    )
    .join("");
  return `<h3>${escapeHtml(route.route)}</h3><p>${escapeHtml(trustOf(route))}. ${percent(route.coverage)} of the intervals lie inside the interval that 90 % should.</p>
<figure>${picture}<figcaption class="key"><span class="a">measured</span><span class="b">predicted</span> p95</figcaption></figure>
<div class="scroll"><table><tr><th>predicted by</th><th>intervals</th><th>mean error</th><th>median error</th></tr>${table}</table></div>`;
}

function policySection(report: BacktestReport): string {
  const columns = Object.keys(POLICY_COLUMNS) as (keyof PolicyRow)[];
  const head = columns.map((column) => `<th>${POLICY_COLUMNS[column]}</th>`).join("");
  const body = policyRows(report)
    .map((row) => `<tr>${columns.map((column) => `<td>${escapeHtml(row[column])}</td>`).join("")}</tr>`)
    .join("");
  const { policies, recorded } = report;
  const front = chart(
    [
      {
        name: "policies",
        tone: "a",
        points: true,
        x: policies.map(({ result }) => result.costPerHour),
        y: policies.map(({ result }) => 100 * result.requestsOver),
        labels: policies.map(({ policy }) => policy),
      },
      {
        name: "as it ran",
        tone: "c",
        points: true,
        x: [recorded.costPerHour],
        y: [100 * recorded.requestsOver],
        labels: ["as it ran (measured)"],
      },
    ],
    {
      title: "requests over the objective against cost per hour, by policy",
      x: { label: "cost per hour", format: (value) => value.toPrecision(3) },
      y: { label: "requests over", format: (value) => `${value.toFixed(1)} %` },
      height: 320,
    },
  );
  return `<div class="scroll"><table><tr>${head}</tr>${body}</table></div>
<figure>${front}<figcaption>Share of requests over the objective against cost per hour: lower left is better.</figcaption></figure>`;
}

/** One page without scripts, styles or pictures from elsewhere: it can be sent by mail and read without a network. */
export function htmlReport(report: BacktestReport): string {
  const { application, fitUntilMs, fromMs, objectiveSeconds, percentile, routes, toMs } = report;
  const title = `Backtest of ${application}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>
<h1>${escapeHtml(title)}</h1>
<p>Objective: p${100 * percentile} within ${milliseconds(objectiveSeconds)}. Models were fitted on ${time(fromMs)} to ${time(fitUntilMs)} UTC; everything below is about ${time(fitUntilMs)} to ${time(toMs)}, which no model saw.</p>
<h2>Can the models be believed?</h2>
${routes.map((route) => routeSection(route, objectiveSeconds)).join("\n")}
<h2>What each policy would have done</h2>
${policySection(report)}
<h2>What this does not show</h2>
<ul>${LIMITS.map((limit) => `<li>${escapeHtml(limit)}</li>`).join("")}</ul>
</body></html>
`;
}
