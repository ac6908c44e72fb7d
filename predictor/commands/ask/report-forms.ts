import type { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import type { ShadowRange } from "@tradewind/core/contract/shadow.ts";
import { amountText, shadowText } from "@tradewind/core/contract/sentences.ts";
import { addedUp } from "../../answers/shadow/sums.ts";
import { finePercent, utcMinutes } from "@tradewind/core/values/amounts.ts";

/** Forms of reports beside text and JSON. */
export const REPORT_FORMS = ["csv", "html"] as const;
export type ReportForm = (typeof REPORT_FORMS)[number];

const COLUMNS = [
  "namespace",
  "application",
  "from",
  "to",
  "currency",
  "requests",
  "requests_over",
  "cost",
  "compared_seconds",
  "compared_cost",
  "hpa_cost",
  "hpa_cost_low",
  "hpa_cost_high",
  "compared_requests",
  "compared_requests_over",
  "hpa_requests_over",
  "hpa_requests_over_low",
  "hpa_requests_over_high",
] as const;

type Row = Readonly<Record<(typeof COLUMNS)[number], string | number>>;

/** One line for each application, under a line with the names of the columns (RFC 4180). */
export function reportsCsv(reports: readonly PeriodReport[]): string {
  const lines = reports.map((report) => {
    const row = rowOf(report);
    return COLUMNS.map((column) => cell(row[column])).join(",");
  });
  return [COLUMNS.join(","), ...lines].join("\n");
}

function rowOf({
  application,
  cost,
  currency = "",
  fromMs,
  namespace,
  requests,
  requestsOver,
  shadow,
  toMs,
}: PeriodReport): Row {
  const range = (of: ShadowRange | undefined, bound: keyof ShadowRange): number | "" => of?.[bound] ?? "";
  return {
    namespace,
    application,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    currency,
    requests,
    requests_over: requestsOver,
    cost,
    compared_seconds: shadow?.seconds ?? "",
    compared_cost: shadow?.cost ?? "",
    hpa_cost: range(shadow?.hpaCost, "middle"),
    hpa_cost_low: range(shadow?.hpaCost, "low"),
    hpa_cost_high: range(shadow?.hpaCost, "high"),
    compared_requests: shadow?.requests ?? "",
    compared_requests_over: shadow?.requestsOver ?? "",
    hpa_requests_over: range(shadow?.hpaRequestsOver, "middle"),
    hpa_requests_over_low: range(shadow?.hpaRequestsOver, "low"),
    hpa_requests_over_high: range(shadow?.hpaRequestsOver, "high"),
  };
}

const cell = (value: string | number): string => {
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#59636e;--line:#d5dae0;--page:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--page:#0d1117}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:64rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}.soft{color:var(--soft)}.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right}th:first-child,td:first-child{text-align:left}`;

/** A page that needs nothing from elsewhere. */
export function reportsHtml(reports: readonly PeriodReport[]): string {
  const fromMs = Math.min(...reports.map((report) => report.fromMs));
  const toMs = Math.max(...reports.map((report) => report.toMs));
  const rows = reports.map((report) => {
    const { application, cost, currency = "", namespace, requests, requestsOver, shadow } = report;
    const cells = [
      `${namespace}/${application}`,
      `${amountText(cost)} ${currency}`,
      finePercent(requestsOver / Math.max(1, requests)),
      shadow === undefined ? "not known" : shadowText(shadow, currency),
    ];
    return `<tr>${cells.map((each) => `<td>${escaped(each)}</td>`).join("")}</tr>`;
  });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Tradewind report</title><style>${STYLE}</style>
<h1>Tradewind, ${utcMinutes(fromMs)} to ${utcMinutes(toMs)}</h1>
<p>${escaped(totalText(reports))}</p>
<div class="scroll"><table><tr><th>application</th><th>cost</th><th>slow or failed</th><th>against the HPA before</th></tr>
${rows.join("\n")}</table></div>
<p class="soft">Cost and requests are measured. What the HPA would have had is decided by the models on the same load; its range is by their measured error.</p></html>`;
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** All applications as one sentence; those of other currencies are not added up. */
export function totalText(reports: readonly PeriodReport[]): string {
  const currencies = new Set(reports.map(({ currency }) => currency));
  const compared = reports.flatMap(({ shadow }) => shadow ?? []);
  const [first, ...others] = compared;
  if (first === undefined) return "none of these applications was compared with an HPA yet";
  if (currencies.size > 1) return `${reports.length} applications in several currencies`;
  const total = others.reduce(addedUp, first);
  const names = reports.length === 1 ? "1 application" : `${reports.length} applications`;
  return `${names}: ${shadowText(total, [...currencies][0])}`;
}
