import type { Annotation, Panel, Query, Variable } from "../grafana.ts";

export const APPLICATION: Variable = {
  name: "application",
  label: "Application",
  query: "label_values(tradewind_objective_latency_seconds, application)",
};
export const NAMESPACE: Variable = {
  name: "namespace",
  label: "Namespace",
  query: 'label_values(tradewind_recommended_replicas{application=~"$application"}, namespace)',
};
export const SERVICE: Variable = {
  name: "service",
  label: "Service",
  query:
    'label_values(tradewind_recommended_replicas{application=~"$application",namespace=~"$namespace"}, service)',
};
/** How many series a panel draws: an application of 50 services would be 50 lines, which nobody can tell apart. */
export const TOP: Variable = { name: "top", label: "Most to draw", choices: ["8", "20", "100"] };

export const OF_APPLICATION = '{application=~"$application"}';
const OF_SERVICE = '{application=~"$application",namespace=~"$namespace",service=~"$service"}';
const BY_SERVICE = "by (namespace, service)";

/** How a series of a service is called. */
export const NAME = "{{namespace}}/{{service}}";

/** A series of the exporters, for each service that is chosen. Exporters say the same: the largest is of the one that is ahead. */
export const each = (metric: string): string => `max ${BY_SERVICE} (${metric}${OF_SERVICE})`;

/** A series of the predictors, whose services bear no application. */
export const predicted = (metric: string): string =>
  `max ${BY_SERVICE} (${metric}{namespace=~"$namespace",service=~"$service"}) and on (namespace, service) ${each("tradewind_recommended_replicas")}`;

/** Of the services, those for which `rank` was largest in the time shown, whatever a point in time has. */
const most = (series: string, rank: string): string =>
  `${series} and on (namespace, service) topk($top, max ${BY_SERVICE} (max_over_time(${rank}[$__range] @ end())))`;

/** The services with the most of a series of the exporters. */
export const mostOf = (metric: string, rank = metric): string => most(each(metric), `${rank}${OF_SERVICE}`);

/** The services with the most of a series of the predictors. */
export const mostPredicted = (metric: string): string =>
  most(`(${predicted(metric)})`, `${metric}{namespace=~"$namespace",service=~"$service"}`);

/**
 * Share of users' requests that took longer than the objective. Every predictor counts all, each for as long as it runs: the sums say the share of the
 * whole time, where the largest of the shares would be that of a pod which lived through an incident and no longer.
 */
const shareOver = (how: string): string => {
  const all = (labels: string): string =>
    `sum by (application) (${how.replace("@", `tradewind_predictor_requests_total${labels}`)})`;
  return `(${all('{application=~"$application",result="bad"}')} / ${all(OF_APPLICATION)})`;
};
const BUDGET = `(1 - max by (application) (tradewind_predictor_objective_ratio${OF_APPLICATION}))`;

export const shareOverIn = (window: string): string => shareOver(`rate(@[${window}])`);
/** How many times faster than it may the error budget is used up. */
export const burnRate = (window: string): string => `${shareOverIn(window)} / on (application) ${BUDGET}`;
/** What is left of the error budget of the time shown; below 0 it is overdrawn. */
export const BUDGET_LEFT = `1 - ${shareOver("increase(@[$__range])")} / on (application) ${BUDGET}`;

/** What a missed objective is put down to, over every panel, for as long as it is missed. */
export const CAUSES: Annotation = {
  name: "Cause of the miss",
  expr: `max by (application, service, type) (tradewind_cause_confidence_ratio${OF_APPLICATION})`,
  title: "{{application}} misses its objective: {{service}} ({{type}})",
  text: "C CPU, M memory, D disk, N network, I interference, L load, V new version, X outside. `tradewind explain --at` has the evidence.",
};

/** One query whose series are called after the application. */
export const byApplication = (expr: string, prefix = ""): readonly Query[] => [
  { expr, legend: `${prefix}{{application}}` },
];

/** In which mode each application is. */
export const MODE: Panel = {
  title: "Mode",
  shows: "name",
  description: "observe: nothing changes; recommend: it is said; act: it is done.",
  kind: "stat",
  height: 4,
  queries: [
    {
      expr: `max by (application, mode) (tradewind_application_mode${OF_APPLICATION}) == 1`,
      legend: "{{application}}: {{mode}}",
    },
  ],
};
