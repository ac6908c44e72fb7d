import { renderTable } from "@tradewind/core/terminal/table.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import type { BacktestReport } from "../backtest.ts";
import { LIMITS, milliseconds, POLICY_COLUMNS, policyRows, time, trustOf } from "./words.ts";
import type { PolicyRow } from "./words.ts";

/** The report as text, for a terminal of any width. */
export function terminalReport(report: BacktestReport, paint: Paint): string {
  const {
    application,
    fitUntilMs,
    fromMs,
    objectiveSeconds,
    percentile,
    routes,
    services,
    toMs,
    windowSeconds,
  } = report;
  const rows = policyRows(report);
  const columns = Object.keys(POLICY_COLUMNS) as (keyof PolicyRow)[];
  const table = renderTable(
    columns.map((column, place) => ({
      title: POLICY_COLUMNS[column],
      align: place < 2 ? "left" : "right",
    })),
    rows.map((row) => columns.map((column) => row[column])),
    paint,
  );
  const tracked = services.filter(({ model }) => model === "tracked").length;
  const none = services.filter(({ model }) => model === "none").map(({ service }) => service);
  return [
    `${application}: p${100 * percentile} within ${milliseconds(objectiveSeconds)}`,
    `models fitted on ${time(fromMs)} to ${time(fitUntilMs)} UTC, judged and replayed to ${time(toMs)}, windows of ${windowSeconds} s`,
    `${tracked} of ${services.length} services have a queueing profile${none.length > 0 ? `; nothing could be fitted for ${none.join(", ")}` : ""}`,
    "",
    "Predicted against measured, on the part that no model saw:",
    ...routes.map((route) => `  ${route.route}: ${trustOf(route)}`),
    "",
    table,
    "",
    ...LIMITS.map((limit) => `- ${limit}`),
  ].join("\n");
}
