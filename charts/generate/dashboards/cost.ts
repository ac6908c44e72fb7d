import type { Dashboard, Query, Row } from "../grafana.ts";
import {
  APPLICATION,
  BUDGET_LEFT,
  burnRate,
  byApplication,
  CAUSES,
  MODE,
  OF_APPLICATION,
  shareOverIn,
} from "./expressions.ts";

const costOf = (which: string): string =>
  `max by (application) (tradewind_predictor_cost_per_hour{application=~"$application",of="${which}"})`;
const SAVED = `1 - ${costOf("recommended")} / on (application) ${costOf("running")}`;

/** Every exporter counts, and none for the whole time shown: at each minute the one that counts most stands for all. */
const regret = (metric: string, labels = ""): string =>
  `60 * sum_over_time((max by (namespace, application) (rate(tradewind_regret_${metric}_total{application=~"$application"${labels}}[5m])))[$__range:1m])`;

/** CPU or memory of all services together. */
const total = (which: string, size: string): string =>
  `sum by (application) (max by (application, namespace, service) (tradewind_${which}_replicas${OF_APPLICATION} * tradewind_${which}_${size}${OF_APPLICATION}))`;
const totals = (size: string): readonly Query[] => [
  { expr: total("running", size), legend: "running {{application}}" },
  { expr: total("recommended", size), legend: "recommended {{application}}" },
];

const NOW: Row = {
  title: "Now",
  panels: [
    {
      title: "Error budget left, of the time shown",
      description: "1: no request was over the objective; below 0 more were than may be.",
      kind: "stat",
      unit: "percentunit",
      width: 6,
      height: 4,
      goodFrom: 0,
      queries: byApplication(BUDGET_LEFT),
    },
    {
      title: "Cost an hour",
      description: "Of what is allocated, by the application's prices.",
      kind: "stat",
      width: 6,
      height: 4,
      queries: byApplication(costOf("running")),
    },
    {
      title: "What the recommendations would save",
      description:
        "Share of that cost, at the sizes recommended. Below 0 they cost more, because the objective needs it. Near 0 in mode act, where they are carried out.",
      kind: "stat",
      unit: "percentunit",
      width: 6,
      height: 4,
      queries: byApplication(SAVED),
    },
    { ...MODE, width: 6 },
  ],
};

const OBJECTIVE: Row = {
  title: "Objective",
  panels: [
    {
      title: "Error budget: how fast it burns",
      description:
        "Share of users' requests that took longer than the objective, over the share that may: over 1 the budget is used up before its time. Alerts begin at 14.4 in an hour and at 6 in six hours.",
      kind: "timeseries",
      alarmFrom: 1,
      queries: ["5m", "1h", "6h"].flatMap((window) => byApplication(burnRate(window), `${window} `)),
    },
    {
      title: "Requests over the objective",
      description: "Share of users' requests that took longer than the objective, in five minutes.",
      kind: "timeseries",
      unit: "percentunit",
      queries: byApplication(shareOverIn("5m")),
    },
  ],
};

const COST: Row = {
  title: "Cost",
  panels: [
    {
      title: "Cost an hour",
      description:
        "By the application's prices: of what runs, and of the same services at the sizes recommended. The difference is what following the plan saves, or costs.",
      kind: "timeseries",
      queries: [
        {
          expr: `max by (application, of) (tradewind_predictor_cost_per_hour${OF_APPLICATION})`,
          legend: "{{of}} {{application}}",
        },
      ],
    },
    {
      title: "CPU of all services",
      description: "Cores, of services whose containers' size is known.",
      kind: "timeseries",
      queries: totals("cpu_cores"),
    },
    {
      title: "Memory of all services",
      description: "Of services whose containers' size is known.",
      kind: "timeseries",
      unit: "bytes",
      queries: totals("memory_bytes"),
    },
  ],
};

const REGRET: Row = {
  title: "Regret: what modes observe and recommend left undone, in the time shown",
  panels: [
    {
      title: "Not saved",
      description: "Price that the recommendations would have saved, had they been carried out.",
      kind: "stat",
      width: 6,
      queries: byApplication(regret("cost", ',direction="saved"')),
    },
    {
      title: "Not spent",
      description: "Price that the recommendations would have added, where more was needed than ran.",
      kind: "stat",
      width: 6,
      queries: byApplication(regret("cost", ',direction="added"')),
    },
    {
      title: "Objective missed while more was recommended",
      description: "Time in which the objective was missed, and Tradewind recommended more than ran.",
      kind: "stat",
      unit: "s",
      width: 12,
      alarmFrom: 1,
      queries: byApplication(regret("missed_seconds")),
    },
  ],
};

export const cost: Dashboard = {
  uid: "tradewind-cost",
  title: "Tradewind / Cost and objective",
  description: "Is the objective met over days, at which cost, and what would following the plan change?",
  variables: [APPLICATION],
  annotations: [CAUSES],
  rows: [NOW, OBJECTIVE, COST, REGRET],
};
