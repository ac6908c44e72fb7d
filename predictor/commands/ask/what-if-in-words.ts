import type { PredictedRoute, WhatIfAnswer } from "@tradewind/core/contract/what-if.ts";
import {
  finePercent,
  formatCores,
  formatLatency,
  formatMemory,
  percentileName,
  utcSeconds,
} from "@tradewind/core/values/amounts.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";
import type { Column } from "@tradewind/core/terminal/table.ts";

/** A verdict, then a table of routes and one of services. */
export function whatIfInWords(answer: WhatIfAnswer, paint: Paint): string {
  const { application, costPerHour, decidedAtMs, load, objective, overRatio, policy, routes, services } =
    answer;
  const { warnings } = answer;
  const percentile = percentileName(objective.percentile);
  const [slowest] = routes;
  const isMet = routes.every(({ objectiveSeconds, then }) => then.latencySeconds <= objectiveSeconds);
  const verdict =
    slowest === undefined
      ? paint("yellow", "No route has a model yet.")
      : paint(
          isMet ? "green" : "red",
          `${percentile} of the slowest route would be ${formatLatency(slowest.then.latencySeconds)} (now ${formatLatency(slowest.now.latencySeconds)}), objective ${formatLatency(slowest.objectiveSeconds)}: ${isMet ? "met" : "missed"}.`,
        );
  const more = costPerHour.now > 0 ? ` (${signed(costPerHour.then / costPerHour.now - 1)})` : "";
  return [
    [
      verdict,
      `Cost: ${costPerHour.now.toFixed(4)} → ${costPerHour.then.toFixed(4)} an hour${more}; requests over the objective: ${finePercent(overRatio.now)} → ${finePercent(overRatio.then)}.`,
      `${application}: decision of ${utcSeconds(decidedAtMs)} by ${policy}; load ${load.then.toFixed(2)} times that of the last window (the plan: ${load.now.toFixed(2)}).`,
      ...warnings.map(({ words }) => paint("yellow", `Careful: ${words}.`)),
    ].join("\n"),
    routesTable(answer, percentile, paint),
    servicesTable(services, percentile, paint),
  ].join("\n\n");
}

function routesTable({ routes }: WhatIfAnswer, percentile: string, paint: Paint): string {
  const columns: readonly Column[] = [
    { title: "route" },
    { title: "objective", align: "right" },
    { title: "measured", align: "right" },
    { title: `${percentile} now` },
    { title: `${percentile} then` },
    { title: "over now", align: "right" },
    { title: "over then", align: "right" },
  ];
  const rows = routes.map(({ lastWindow, now, objectiveSeconds, route, then }) => [
    route,
    formatLatency(objectiveSeconds),
    formatLatency(lastWindow?.measuredSeconds),
    ranged(now),
    paint(then.latencySeconds > objectiveSeconds ? "red" : "green", ranged(then)),
    finePercent(now.overRatio),
    finePercent(then.overRatio),
  ]);
  return renderTable(columns, rows, paint);
}

function servicesTable(services: WhatIfAnswer["services"], percentile: string, paint: Paint): string {
  const columns: readonly Column[] = [
    { title: "service" },
    { title: "replicas" },
    { title: "CPU each" },
    { title: "memory each" },
    { title: "requests/s" },
    { title: `self-time ${percentile}` },
  ];
  const rows = services.map(({ isModelled, now, service, then }) => [
    service,
    changed(now.replicas, then.replicas, String, paint),
    changed(now.cpuCores, then.cpuCores, formatCores, paint),
    changed(now.memoryBytes, then.memoryBytes, formatMemory, paint),
    changed(now.requestsPerSecond, then.requestsPerSecond, (rate) => rate.toFixed(1), paint),
    isModelled
      ? changed(now.selfTimeSeconds, then.selfTimeSeconds, formatLatency, paint)
      : `${formatLatency(now.selfTimeSeconds)} measured, no model`,
  ]);
  return renderTable(columns, rows, paint);
}

/** `151 ms (140 to 163)` */
const ranged = ({ highSeconds, latencySeconds, lowSeconds }: PredictedRoute): string =>
  `${formatLatency(latencySeconds)} (${formatLatency(lowSeconds)} to ${formatLatency(highSeconds)})`;

function changed(now: number, then: number, format: (value: number) => string, paint: Paint): string {
  const [before, after] = [format(now), format(then)];
  return before === after ? before : paint("yellow", `${before} → ${after}`);
}

const signed = (ratio: number): string => `${ratio < 0 ? "" : "+"}${(100 * ratio).toFixed(1)} %`;
