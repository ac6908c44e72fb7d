import { h } from "preact";
import { useAsk } from "./api.js";
import { clock, count, money, ms, percent, percentileName } from "./format.js";
import { Card, Chip, Missing, Notice, Table } from "./parts.js";

/** @import { Fleet as FleetAnswer, FleetRow } from "@tradewind/core/contract/fleet.ts" */
/** @import { ViewProps } from "./state.js" */

/** Every application in one line, the worst first. @param {ViewProps} props */
export function Fleet({ known }) {
  const { answer, problem } = useAsk(known.header && "v1/fleet", known.header?.servedAtMs);
  const fleet = /** @type {FleetAnswer | undefined} */ (answer);
  if (fleet === undefined)
    return [h("h1", { key: "title" }, "Fleet"), h(Missing, { key: "none", problem, what: "applications" })];
  const missed = fleet.applications.filter(({ sloRatio = 0 }) => sloRatio > 1).length;
  const hasClusters = fleet.applications.some(({ cluster }) => cluster !== undefined);
  return [
    h(
      "div",
      { class: "row", key: "bar" },
      h("h1", null, "Fleet"),
      h(
        "span",
        { class: missed > 0 ? "bad" : "soft", role: "status" },
        `${missed} of ${count(fleet.applications.length)} applications ${missed === 1 ? "misses" : "miss"} the objective`,
      ),
    ),
    ...fleet.unreachable.map(({ cluster, problem: why }) =>
      h(Notice, { key: cluster, kind: "warn", title: `${cluster} is not shown:` }, why),
    ),
    h(
      Card,
      { key: "table", class: "fleet" },
      h(Table, {
        caption: "Worst first. Latency over the objective: the last hour, a line at 100 %.",
        head: [
          ...(hasClusters ? [/** @type {[string]} */ (["Cluster"])] : []),
          ["Application"],
          ["State"],
          ["Latency / objective", "wide"],
          ["Budget left"],
          ["Replicas"],
          ["Cost/h"],
          ["Mode"],
          ["Held"],
          ["Last change", "wide"],
        ],
        rows: fleet.applications.map((row) => h(Row, { key: keyOf(row), row, hasClusters })),
      }),
      fleet.applications.length === 0 && h("p", { class: "soft" }, "No application has a plan yet."),
    ),
  ];
}

/** @param {FleetRow} row */
const keyOf = ({ cluster = "", name, namespace }) => `${cluster} ${namespace}/${name}`;

/** @param {FleetRow} row @returns {{ kind: string, word: string }} */
function stateOf({ objective, problem, sloRatio }) {
  if ((sloRatio ?? 0) > 1) return { kind: "bad", word: "missed" };
  if (problem !== undefined || objective === undefined) return { kind: "warn", word: "no new plan" };
  return sloRatio === undefined ? { kind: "", word: "no traffic" } : { kind: "good", word: "met" };
}

/** @param {{ row: FleetRow, hasClusters: boolean }} props */
function Row({ hasClusters, row }) {
  const { cluster, overrides, replicas, replicasReady } = row;
  const { kind, word } = stateOf(row);
  const key = `${row.namespace}/${row.name}`;
  const page = cluster === undefined ? "" : `${cluster.replace(/\/$/, "")}/`;
  return h(
    "tr",
    null,
    hasClusters && h("td", { class: "soft small" }, cluster ?? "this one"),
    h("td", null, h("a", { href: `${page}#/overview?${new URLSearchParams({ application: key })}` }, key)),
    h("td", null, h(Chip, { kind }, word)),
    h("td", null, h(Latency, { row, isMissed: kind === "bad" })),
    h("td", null, h(Budget, { row })),
    h(
      "td",
      { class: "number" },
      replicasReady === replicas ? count(replicas) : `${count(replicasReady)} → ${count(replicas)}`,
    ),
    h("td", { class: "number" }, h(Cost, { row })),
    h("td", null, row.mode ?? "–"),
    h(
      "td",
      null,
      overrides.length === 0
        ? "–"
        : h("span", { class: "warn small" }, heldWords(row.heldRatio), overrides[0]),
    ),
    h("td", { class: "small" }, h(LastChange, { row })),
  );
}

/** @param {{ row: FleetRow, isMissed: boolean }} props */
const Latency = ({ isMissed, row: { course, objective, problem, sloRatio, standing } }) =>
  h(
    "div",
    { class: "row", title: standing ?? problem },
    h(Spark, { course, isMissed }),
    h("strong", { class: "number" }, percent(sloRatio)),
    objective !== undefined &&
      h("span", { class: "soft small" }, `${percentileName(objective.percentile)} ${ms(objective.seconds)}`),
  );

/** @param {{ row: FleetRow }} props */
function Budget({ row: { budgetLeftRatio: left, budgetSeconds } }) {
  if (left === undefined) return "–";
  const title = `of ${hours(budgetSeconds)}`;
  if (left < 0) return h("span", { class: "bad", title }, `overspent ${percent(-left)}`);
  return h("span", { class: left < 0.25 ? "warn" : "", title }, percent(left));
}

/** @param {{ row: FleetRow }} props */
const Cost = ({ row: { costPerHour, recommendedCostPerHour: then } }) => [
  money(costPerHour),
  then !== undefined &&
    then !== costPerHour &&
    h("span", { key: "then", class: "soft small" }, ` → ${money(then)}`),
];

/** @param {{ row: FleetRow }} props */
const LastChange = ({ row: { lastChange, namespace } }) =>
  lastChange === undefined
    ? h("span", { class: "soft" }, "none yet")
    : h(
        "span",
        { title: lastChange.reason },
        h("span", { class: "soft" }, `${clock(lastChange.atMs)} `),
        h("strong", null, `${namespace}/${lastChange.service}`),
        ` ${lastChange.what}`,
      );

/** @param {number} ratio */
const heldWords = (ratio) => (ratio === 1 ? "" : `${percent(ratio)} of services: `);

/** @param {number | undefined} seconds */
const hours = (seconds = 0) =>
  seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;

const [WIDTH, HEIGHT] = [120, 28];

/** The last hour in a line; twice the objective and more is the upper edge. @param {{ course: FleetRow["course"], isMissed: boolean }} props */
function Spark({ course, isMissed }) {
  const known = course.filter((ratio) => ratio !== null);
  const top = Math.min(4, Math.max(1.2, ...known));
  const y = (/** @type {number} */ ratio) => HEIGHT - 1 - ((HEIGHT - 2) * Math.min(ratio, top)) / top;
  const words =
    known.length === 0
      ? "nothing measured"
      : `between ${percent(Math.min(...known))} and ${percent(Math.max(...known))}`;
  let isNew = true;
  const path = course.map((ratio, at) => {
    if (ratio === null) {
      isNew = true;
      return "";
    }
    const step = `${isNew ? "M" : "L"}${((at + 0.5) * WIDTH) / course.length} ${y(ratio).toFixed(1)}`;
    // A minute alone is seen as a dot.
    const text = isNew ? `${step}h1` : step;
    isNew = false;
    return text;
  });
  return h(
    "svg",
    {
      class: `spark ${isMissed ? "bad" : ""}`,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": `last hour ${words}`,
    },
    h("line", { x1: 0, x2: WIDTH, y1: y(1), y2: y(1) }),
    h("path", { d: path.join("") }),
  );
}
