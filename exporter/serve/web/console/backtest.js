import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAsk } from "./api.js";
import { axes, Chart, colour } from "./chart.js";
import { date, money, ms, percent, percentileName } from "./format.js";
import { Card, Chip, Missing, Table } from "./parts.js";

/** @import { BacktestSummary } from "@tradewind/core/contract/backtest.ts" */
/** @import { AlignedData, Options } from "uplot" */
/** @import { ViewProps } from "./state.js" */

/** @typedef {BacktestSummary["routes"][number]} Route */

/** How far the models were off, then what each policy would have done. @param {ViewProps} props */
export function Backtest({ known }) {
  const { answer, problem } = useAsk(known.header && "v1/backtest");
  const report = /** @type {BacktestSummary | undefined} */ (answer);
  const [chosen, setChosen] = useState(0);
  const route = report?.routes[chosen] ?? report?.routes[0];
  if (report === undefined)
    return [
      h("h1", { key: "title" }, "Backtest"),
      problem?.code === "no-backtest"
        ? h(
            Card,
            { key: "none", title: "No backtest to show" },
            h("p", null, problem.message),
            h(
              "pre",
              { tabIndex: 0 },
              "tradewind backtest --config application.yaml --state /var/lib/tradewind --from 7d --json > week.json\ntradewind scaler … --backtest-report week.json",
            ),
          )
        : h(Missing, { key: "none", problem, what: "backtest" }),
    ];
  return [
    h(
      "div",
      { class: "row", key: "title" },
      h("h1", null, "Backtest"),
      h(
        "span",
        { class: "soft" },
        `${report.application}: models fitted on ${date(report.fromMs)} to ${date(report.fitUntilMs)}, judged and replayed to ${date(report.toMs)}`,
      ),
    ),
    h(
      Card,
      {
        key: "routes",
        title: `Predicted ${percentileName(report.percentile)} against measured, on what no model saw`,
      },
      h(Table, {
        caption: "Mean errors; a model has to beat both baselines",
        head: [
          ["Route"],
          ["Models", "number"],
          ["At the knee", "number"],
          ["A constant", "number"],
          ["The window before", "number"],
          ["Bias", "number"],
          ["In the 90 % interval", "number"],
          [""],
        ],
        rows: report.routes.map((each, at) =>
          h(
            "tr",
            { key: each.route },
            h("td", null, h("button", { class: "plain", onClick: () => setChosen(at) }, each.route)),
            errors(each),
            h("td", null, trust(each)),
          ),
        ),
      }),
      route !== undefined && h(RouteChart, { route, objectiveSeconds: report.objectiveSeconds }),
    ),
    h(Card, { key: "policies", title: "What each policy would have done" }, h(Policies, { report })),
  ];
}

/** @param {number | null | undefined} ratio @param {string} key */
const cell = (ratio, key) => h("td", { class: "number", key }, percent(ratio ?? undefined, 1));

/** @param {Route} route */
const errors = ({ all, bias, constant, coverage, knee, persistence }) => [
  cell(all.meanRatio, "all"),
  cell(knee.meanRatio, "knee"),
  cell(constant.meanRatio, "constant"),
  cell(persistence.meanRatio, "persistence"),
  cell(bias, "bias"),
  cell(coverage, "coverage"),
];

/** @param {Route} route */
function trust({ all, constant, persistence }) {
  const isBetter =
    (all.meanRatio ?? Infinity) <=
    Math.min(constant.meanRatio ?? Infinity, persistence.meanRatio ?? Infinity);
  return h(
    Chip,
    { kind: isBetter ? "good" : "warn" },
    isBetter ? "better than both" : "do not believe its replays",
  );
}

/** @param {{ route: Route, objectiveSeconds: number }} props */
function RouteChart({ objectiveSeconds, route }) {
  /** @type {AlignedData} */
  const data = useMemo(
    () => [
      route.series.map(({ endMs }) => endMs / 1e3),
      route.series.map(({ measuredSeconds }) => 1e3 * measuredSeconds),
      route.series.map(({ predictedSeconds }) => 1e3 * predictedSeconds),
      route.series.map(() => 1e3 * objectiveSeconds),
    ],
    [route, objectiveSeconds],
  );
  return h(
    "div",
    null,
    h(
      "div",
      { class: "row legend small soft" },
      h("span", null, route.route),
      h("span", { class: "key" }, "measured"),
      h("span", { class: "key link" }, "predicted"),
      h("span", { class: "key bad" }, `objective ${ms(objectiveSeconds)}`),
    ),
    h(Chart, {
      data,
      version: route.route,
      height: 240,
      options,
      label: `Measured and predicted p95 of ${route.route} over ${route.series.length} windows`,
    }),
  );
}

/** @returns {Omit<Options, "width" | "height">} */
const options = () => ({
  legend: { show: false },
  scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, 1.08 * most)] } },
  axes: axes(" ms"),
  series: [
    {},
    { stroke: colour("soft"), width: 1.2, points: { show: false } },
    { stroke: colour("link"), width: 1.6, points: { show: false } },
    { stroke: colour("bad"), width: 1.2, dash: [6, 4], points: { show: false } },
  ],
});

/** @param {{ report: BacktestSummary }} props */
function Policies({ report: { policies, recorded } }) {
  const rows = [
    { policy: "as it ran", source: "measured", result: recorded },
    ...policies.map((each) => ({ ...each, source: "simulated" })),
  ];
  return h(Table, {
    caption: "Simulated on the fitted models, but for the first row",
    head: [
      ["Policy"],
      [""],
      ["Requests over", "number"],
      ["Cost per hour", "number"],
      ["Cores", "number"],
      ["GB", "number"],
      ["Starts", "number"],
      ["Stops", "number"],
    ],
    rows: rows.map(({ policy, result, source }) =>
      h(
        "tr",
        { key: policy },
        h("td", null, h("strong", null, policy)),
        h("td", null, h(Chip, { kind: source === "measured" ? "good" : "" }, source)),
        h("td", { class: "number" }, percent(result.requestsOver, 2)),
        h("td", { class: "number" }, money(result.costPerHour)),
        h("td", { class: "number" }, +result.cores.toPrecision(3)),
        h("td", { class: "number" }, +result.gigabytes.toPrecision(3)),
        h("td", { class: "number" }, result.starts),
        h("td", { class: "number" }, result.stops),
      ),
    ),
  });
}
