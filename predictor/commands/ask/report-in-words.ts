import type { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import {
  finePercent,
  formatLatency,
  formatSeconds,
  percentileName,
  utcSeconds,
} from "@tradewind/core/values/amounts.ts";
import { amountText, savingsText, shadowText, sizesChangeText } from "@tradewind/core/contract/sentences.ts";
import type { RegretReport } from "@tradewind/core/contract/recommendation.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";

/** What the scaler counted of decisions that were not carried out, or why it is not known. */
export interface Unacted {
  readonly mode?: string;
  readonly regret?: RegretReport;
  readonly scalerProblem?: string;
}

type Change = PeriodReport["newest"][number];

/** Objective and cost in sentences, then tables of routes and services, then the newest decisions with their reasons. */
export function reportInWords(report: PeriodReport, unacted: Unacted, paint: Paint): string {
  const { application, decisions, fromMs, newest, objective, toMs } = report;
  const percentile = percentileName(objective.percentile);
  const title = `${application}, ${utcSeconds(fromMs)} to ${utcSeconds(toMs)}; objective: ${percentile} ${formatLatency(objective.seconds)}`;
  const shown = newest.length < decisions ? ` (the newest ${newest.length})` : "";
  return [
    [
      title,
      ...objectiveLines(report, percentile, paint),
      ...costLines(report),
      shadowLine(report),
      ...unactedLines(unacted),
    ].join("\n"),
    routesTable(report, percentile, paint),
    servicesTable(report, paint),
    decisions === 0
      ? "No plan proposed another size."
      : [`${decisions} proposals of another size${shown}:`, ...newest.map(changeInWords)].join("\n"),
  ].join("\n\n");
}

function objectiveLines(report: PeriodReport, percentile: string, paint: Paint): string[] {
  const { measuredSeconds, missedSeconds, requests, requestsOver, worstLatencySeconds } = report;
  if (measuredSeconds === 0) return ["Objective: no requests were measured."];
  const missed = `missed for ${formatSeconds(missedSeconds)} of ${formatSeconds(measuredSeconds)} (${finePercent(missedSeconds / measuredSeconds)})`;
  return [
    `Objective: ${paint(missedSeconds > 0 ? "red" : "green", missed)}; ${Math.round(requestsOver)} of ${Math.round(requests)} requests over (${finePercent(requestsOver / Math.max(1, requests))}), worst ${percentile} ${formatLatency(worstLatencySeconds)}`,
  ];
}

function costLines(report: PeriodReport): string[] {
  const { cost, costAtFirstSizes, cpuCoreHours, currency, fromMs, memoryGigabyteHours, replicaHours, toMs } =
    report;
  const hours = (toMs - fromMs) / 3_600_000;
  const amount = (value: number): string => `${amountText(value)} ${currency ?? ""}`.trim();
  return [
    `Cost: ${amount(cost)} (${amount(cost / hours)} an hour) for ${cpuCoreHours.toFixed(2)} core-hours, ${memoryGigabyteHours.toFixed(2)} GB-hours, ${replicaHours.toFixed(2)} replica-hours`,
    `With the sizes at the start, kept throughout: ${amount(costAtFirstSizes)}`,
  ];
}

/** Against the HPA that there was, where the models could say it. */
function shadowLine({ currency, shadow }: PeriodReport): string {
  if (shadow === undefined) return "Against the HPA before: not known, no models decided in that time";
  return `Against the HPA before, over ${formatSeconds(shadow.seconds)}: ${shadowText(shadow, currency)}`;
}

function unactedLines({ mode, regret, scalerProblem }: Unacted): string[] {
  if (scalerProblem !== undefined) return [`Acting: not known, ${scalerProblem}`];
  if (regret === undefined) return mode === undefined ? [] : [`Acting: mode is ${mode}`];
  return [`Acting (mode is ${mode}): ${savingsText(regret)}`];
}

function routesTable({ routes }: PeriodReport, percentile: string, paint: Paint): string {
  return renderTable(
    [
      { title: "route" },
      { title: "requests", align: "right" },
      { title: "over", align: "right" },
      { title: "missed for", align: "right" },
      { title: `worst ${percentile}`, align: "right" },
    ],
    routes.map((each) => [
      each.route,
      each.requests.toFixed(0),
      finePercent(each.requestsOver / each.requests),
      formatSeconds(each.missedSeconds),
      formatLatency(each.worstLatencySeconds),
    ]),
    paint,
  );
}

function servicesTable({ services }: PeriodReport, paint: Paint): string {
  return renderTable(
    [
      { title: "service" },
      { title: "replicas", align: "right" },
      { title: "core-hours", align: "right" },
      { title: "GB-hours", align: "right" },
      { title: "cost", align: "right" },
      { title: "decisions", align: "right" },
    ],
    services.map(({ cost, cpuCoreHours, decisions, memoryGigabyteHours, service, ...replicas }) => [
      service,
      replicas.replicasLeast === replicas.replicasMost
        ? String(replicas.replicasMost)
        : `${replicas.replicasLeast} to ${replicas.replicasMost}`,
      cpuCoreHours.toFixed(2),
      memoryGigabyteHours.toFixed(2),
      cost.toFixed(4),
      String(decisions),
    ]),
    paint,
  );
}

const changeInWords = ({ after, before, decidedAtMs, reason, service }: Change): string =>
  `  ${utcSeconds(decidedAtMs)}  ${service}  ${sizesChangeText(before, after)}: ${reason}`;
