import { GRAD_APPLICATIONS, GRAD_SETTINGS, gradPlantName } from "@tradewind/simulator/course/papers/grad.ts";
import type { GradSetting } from "@tradewind/simulator/course/papers/grad.ts";
import { DRPC_PLANT } from "@tradewind/simulator/course/papers/drpc.ts";
import { INFRALLM_PLANT } from "@tradewind/simulator/course/papers/infrallm.ts";
import { EQUAL_PODS, QUEUEFLOWER_FIGURE_PLANTS } from "@tradewind/simulator/course/papers/queueflower.ts";
import { QUANTILES } from "../course/details.ts";
import type { LatencyDetails } from "../course/details.ts";
import type { Column, Paper, TableModel } from "./paper.ts";
import { GRAD_QUESTIONS, QUEUEFLOWER_QUESTIONS, units } from "./questions.ts";

const requestsOver: Column = {
  title: "requests over, %",
  key: "requestsOver",
  of: ({ result }) => result.requestsOver,
  scale: 100,
  digits: 2,
};
const cores: Column = {
  title: "cores",
  key: "cores",
  of: ({ result }) => result.cores,
  scale: 1,
  digits: 1,
};
const meanLatency: Column = {
  title: "mean, ms",
  key: "meanSeconds",
  of: ({ details }) => details.all.meanSeconds,
  scale: 1e3,
  digits: 1,
};

function gradTable(application: string): TableModel {
  const ofSetting = (setting: GradSetting): Column => ({
    title: setting.replace("-", " "),
    key: setting,
    of: units,
    scale: 1,
    digits: 0,
    plants: [gradPlantName(application, setting)],
  });
  return {
    title: `Table I, ${application}: resource units (0.1 cores or 50 MB)`,
    plants: GRAD_SETTINGS.map((setting) => gradPlantName(application, setting)),
    columns: GRAD_SETTINGS.map(ofSetting),
  };
}

const GRAD: Paper = {
  name: "grad",
  actuators: "replicas+cpu+memory",
  entrants: [
    { policy: "tradewind-auto", label: "tradewind-auto (Grad)" },
    { policy: "erms-like", label: "erms-like" },
    { policy: "firm-like", label: "firm-like" },
    { policy: "hpa-cpu", label: "hpa-cpu (not in the paper)" },
  ],
  tables: GRAD_APPLICATIONS.map(gradTable),
  questions: GRAD_QUESTIONS,
};

const ROUTES = {
  search: "GET /hotels",
  reservation: "POST /reservation",
  login: "POST /user",
  recommendation: "GET /recommendations",
} as const;

const P90 = QUANTILES.indexOf(0.9);

function ofRoute(
  what: string,
  of: (details: LatencyDetails) => number,
  [scale, digits]: readonly [number, number],
): Column[] {
  return Object.entries(ROUTES).map(([name, route]) => ({
    title: `${name}, ${what}`,
    key: `${name} ${what}`,
    of: ({ details }) => {
      const each = details.routes[route];
      return each === undefined ? Number.NaN : of(each);
    },
    scale,
    digits,
  }));
}

const pods: Column = { title: "pods", key: "pods", of: ({ details }) => details.pods, scale: 1, digits: 1 };

const QUEUEFLOWER: Paper = {
  name: "queueflower",
  actuators: "replicas",
  entrants: [
    {
      policy: "queueflower",
      label: "queueflower",
      parameters: { budgetMultiple: 1, weights: "published" },
    },
    { policy: "static", label: "static (AVG)", parameters: { multiple: 1 } },
    {
      policy: "hpa-cpu",
      label: "hpa-cpu at 60 % (HPA)",
      parameters: { targetPercent: 60, scaleDownSeconds: 300 },
    },
    { policy: "hab-like", label: "hab-like (HAB)", parameters: { budgetMultiple: 1 } },
    { policy: "tradewind-queue", label: "tradewind-queue" },
    { policy: "tradewind-auto", label: "tradewind-auto" },
  ],
  questions: QUEUEFLOWER_QUESTIONS,
  tables: QUEUEFLOWER_FIGURE_PLANTS.flatMap(({ name }, at): TableModel[] => {
    const load = at === 0 ? "stationary" : "non-stationary";
    const [first, second, third] = at === 0 ? [4, 5, 6] : [7, 8, 9];
    const table = (figure: number | undefined, what: string, columns: readonly Column[]): TableModel => ({
      title: `Fig. ${figure}: ${what}, ${load} load, at most ${EQUAL_PODS} pods`,
      plants: [name],
      columns,
    });
    return [
      table(first, "mean latency", [...ofRoute("ms", ({ meanSeconds }) => meanSeconds, [1e3, 1]), pods]),
      table(
        second,
        "P90",
        ofRoute("ms", ({ quantileSeconds }) => quantileSeconds[P90] ?? Number.NaN, [1e3, 1]),
      ),
      table(
        third,
        "SLA violations",
        ofRoute("%", (details) => details.requestsOver, [100, 1]),
      ),
    ];
  }),
};

const DRPC: Paper = {
  name: "drpc",
  actuators: "replicas+cpu+memory",
  seeds: 20,
  entrants: [
    { policy: "tradewind-students", label: "students (DRPC, distributed)" },
    { policy: "td3-teacher", label: "teacher (DRPC, centralised)" },
    { policy: "tradewind-auto", label: "planner: tradewind-auto" },
    { policy: "tradewind-queue", label: "queue: tradewind-queue" },
    { policy: "firm-like", label: "firm-like (FIRM)" },
    {
      policy: "hpa-cpu",
      label: "hpa-cpu at 75 % (KuScal)",
      parameters: { targetPercent: 75, scaleDownSeconds: 300 },
    },
  ],
  tables: [
    {
      title: "Table 4: response time at percentiles, ms",
      plants: [DRPC_PLANT.name],
      columns: QUANTILES.map((quantile, at) => ({
        title: `${Math.round(1e4 * quantile) / 100}th`,
        key: `p${Math.round(1e4 * quantile) / 100}`,
        of: ({ details }) => details.all.quantileSeconds[at] ?? Number.NaN,
        scale: 1e3,
        digits: 0,
      })),
    },
    {
      title: "Fig. 3: requests that succeed, by fifths of the time; failures; mean response time",
      plants: [DRPC_PLANT.name],
      columns: [
        ...[0, 1, 2, 3, 4].map((fifth): Column => ({
          title: `${fifth + 1}., 1/s`,
          key: `served ${fifth + 1}`,
          of: ({ details }) => details.servedPerSecond[fifth] ?? Number.NaN,
          scale: 1,
          digits: 1,
        })),
        {
          title: "failed, %",
          key: "failed",
          of: ({ details: { all } }) => all.failed / Math.max(1, all.requests),
          scale: 100,
          digits: 2,
        },
        meanLatency,
      ],
    },
    {
      title: "What it takes: mean of what containers request, pods, and requests over the objective",
      plants: [DRPC_PLANT.name],
      columns: [
        cores,
        { title: "GB", key: "gigabytes", of: ({ result }) => result.gigabytes, scale: 1, digits: 1 },
        pods,
        {
          title: "used of the CPU, %",
          key: "cpuEfficiency",
          of: ({ details }) => details.cpuEfficiency,
          scale: 100,
          digits: 1,
        },
        requestsOver,
        {
          title: "cost, 1/h",
          key: "costPerHour",
          of: ({ result }) => result.costPerHour,
          scale: 1,
          digits: 3,
        },
      ],
    },
  ],
};

const HOUR_SECONDS = 3_600;

const INFRALLM: Paper = {
  name: "infrallm",
  actuators: "replicas",
  entrants: [
    { policy: "tradewind-auto", label: "tradewind-auto" },
    { policy: "hpa-cpu", label: "hpa-cpu (Kubernetes HPA)" },
    { policy: "keda-requests", label: "keda-requests (KEDA)" },
    { policy: "static", label: "static (manual scaling)", parameters: { multiple: 2 } },
  ],
  tables: [
    {
      title: "Section VI: its metrics by their definitions",
      plants: [INFRALLM_PLANT.name],
      columns: [
        {
          title: "over-utilisations, 1/h",
          key: "overUtilisations",
          of: ({ details }) =>
            (HOUR_SECONDS * details.overUtilisations) /
            (INFRALLM_PLANT.model.seconds - INFRALLM_PLANT.warmUpSeconds),
          scale: 1,
          digits: 1,
        },
        {
          title: "used of allocated CPU, %",
          key: "cpuEfficiency",
          of: ({ details }) => details.cpuEfficiency,
          scale: 100,
          digits: 1,
        },
        meanLatency,
        requestsOver,
        {
          title: "p99, ms",
          key: "p99",
          of: ({ details }) => details.all.quantileSeconds[QUANTILES.indexOf(0.99)] ?? Number.NaN,
          scale: 1e3,
          digits: 0,
        },
        {
          title: "cost, 1/h",
          key: "costPerHour",
          of: ({ result }) => result.costPerHour,
          scale: 1,
          digits: 3,
        },
      ],
    },
  ],
};

/** Papers whose experiments the simulator can restate, in the order of docs/papers.md. */
export const PAPERS: readonly Paper[] = [GRAD, QUEUEFLOWER, DRPC, INFRALLM];
