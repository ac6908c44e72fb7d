import type { BacktestReport } from "../backtest.ts";
import { LIMITS, milliseconds, POLICY_COLUMNS, policyRows, time, trustOf } from "./words.ts";
import type { PolicyRow } from "./words.ts";

/** The report as text, for a terminal of any width. */
export function terminalReport(report: BacktestReport): string {
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
  const width = (column: keyof PolicyRow): number =>
    Math.max(POLICY_COLUMNS[column].length, ...rows.map((row) => row[column].length));
  const line = (cell: (column: keyof PolicyRow) => string): string =>
    columns
      .map((column, place) =>
        place < 2 ? cell(column).padEnd(width(column)) : cell(column).padStart(width(column)),
      )
      .join("  ");
  const trained = services.filter(({ model }) => model === "trained").length;
  const none = services.filter(({ model }) => model === "none").map(({ service }) => service);
  return [
    `${application}: p${100 * percentile} within ${milliseconds(objectiveSeconds)}`,
    `models fitted on ${time(fromMs)} to ${time(fitUntilMs)} UTC, judged and replayed to ${time(toMs)}, windows of ${windowSeconds} s`,
    `${trained} of ${services.length} services have a trained residual${none.length > 0 ? `; nothing could be fitted for ${none.join(", ")}` : ""}`,
    "",
    "Predicted against measured, on the part that no model saw:",
    ...routes.map((route) => `  ${route.route}: ${trustOf(route)}`),
    "",
    line((column) => POLICY_COLUMNS[column]),
    ...rows.map((row) => line((column) => row[column])),
    "",
    ...LIMITS.map((limit) => `- ${limit}`),
  ].join("\n");
}
