import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAsk } from "./api.js";
import { axes, Chart, colour } from "./chart.js";
import { EventLine, Sign } from "./event-words.js";
import { clock, cores, count, money, ms, percent, percentileName, rate } from "./format.js";
import { Card, Missing } from "./parts.js";
import { of } from "./state.js";

/** @import uPlot from "uplot" */
/** @import { AuditEvent, EventList } from "@tradewind/core/contract/audit.ts" */
/** @import { KeptCourse, KeptPoint } from "@tradewind/core/contract/measured.ts" */
/** @import { Happening } from "./event-words.js" */
/** @import { Standing } from "./state.js" */

const RANGES = /** @type {const} */ ([
  ["5 min", 300],
  ["1 h", 3_600],
  ["6 h", 21_600],
  ["24 h", 86_400],
]);

/** Place of the left axis and of the right edge, in pixels: the same in all panels, so that times stand below each other. */
const [LEFT, RIGHT] = [62, 10];
/** Marks closer than this share of the width are one. */
const NEAR = 0.015;
const MOST_LISTED = 12;

/**
 * @typedef {object} Line
 * @property {string} title
 * @property {(point: KeptPoint) => number | undefined} value
 * @property {"link" | "soft" | "good"} stroke
 */
/** @typedef {{ name: string, title: string, height: number, lines: readonly Line[], write: (value: number | undefined) => string, unit: string, limit?: number }} Panel */

/** @type {readonly Panel[]} */
const PANELS = [
  {
    name: "slo",
    title: "Latency / objective",
    height: 150,
    unit: " %",
    limit: 100,
    write: (value) => (value === undefined ? "–" : `${Math.round(value)} %`),
    lines: [
      {
        title: "measured",
        stroke: "link",
        value: ({ latencySeconds, objectiveSeconds }) =>
          latencySeconds === undefined || objectiveSeconds === undefined
            ? undefined
            : (100 * latencySeconds) / objectiveSeconds,
      },
    ],
  },
  {
    name: "requests",
    title: "Requests/s",
    height: 62,
    unit: "",
    write: rate,
    lines: [{ title: "measured", stroke: "link", value: ({ requestsPerSecond }) => requestsPerSecond }],
  },
  {
    name: "replicas",
    title: "Replicas",
    height: 62,
    unit: "",
    write: (value) => (value === undefined ? "–" : count(+value.toFixed(1))),
    lines: [
      { title: "ready", stroke: "link", value: ({ replicas }) => replicas },
      { title: "recommended", stroke: "soft", value: ({ recommendedReplicas }) => recommendedReplicas },
    ],
  },
  {
    name: "cpu",
    title: "CPU cores",
    height: 62,
    unit: "",
    write: cores,
    lines: [
      { title: "used", stroke: "link", value: ({ cpuUsedCores }) => cpuUsedCores },
      { title: "given", stroke: "soft", value: ({ cpuCores }) => cpuCores },
    ],
  },
  {
    name: "cost",
    title: "Cost/h",
    height: 84,
    unit: "",
    write: money,
    lines: [
      { title: "running", stroke: "link", value: ({ costPerHour }) => costPerHour },
      { title: "recommended", stroke: "soft", value: ({ recommendedCostPerHour }) => recommendedCostPerHour },
    ],
  },
];

/** The windows of the range and no more. @param {Standing | undefined} standing @param {number} range seconds @param {string} [service] */
export function useCourse(standing, range, service = "") {
  const { lastPlanAtMs } = standing ?? {};
  const step = range / 20;
  const since = 1e3 * Math.max(0, Math.floor(((lastPlanAtMs ?? 0) / 1e3 - range) / step) * step);
  const more = { since: String(since), ...(service !== "" && { service }) };
  const { answer, problem } = useAsk(standing && of("v1/course", standing, more), lastPlanAtMs);
  return { course: /** @type {KeptCourse | undefined} */ (answer), problem };
}

/**
 * Latency, requests, replicas, CPU and cost above each other on one time axis, with what was decided as marks that open.
 * @param {{ standing: Standing | undefined, version: unknown, service?: string }} props
 */
export function CourseCard({ service = "", standing, version }) {
  const [range, setRange] = useState(/** @type {number} */ (RANGES[1][1]));
  const { course, problem } = useCourse(standing, range, service);
  const asked = of("v1/events", standing, { most: "500", ...(service !== "" && { service }) });
  const { answer } = useAsk(standing && asked, version);
  const events = /** @type {EventList | undefined} */ (answer)?.events;
  const namespace = standing?.namespace ?? "";
  const happened = useMemo(() => happenings(events ?? [], course, service, namespace), [events, course]);
  const points = useMemo(() => within(course?.points ?? [], range), [course, range]);
  return h(
    Card,
    { title: service === "" ? "The application over time" : `${service} over time`, class: "course" },
    h(
      "div",
      { class: "row legend small soft" },
      h("span", { class: "key mark" }, "decision"),
      h("span", { class: "key deploy" }, "deploy"),
      h(
        "span",
        { class: "row ranges" },
        RANGES.map(([title, seconds]) =>
          h(
            "button",
            { key: title, "aria-pressed": seconds === range, onClick: () => setRange(seconds) },
            title,
          ),
        ),
      ),
    ),
    points.length < 2
      ? problem === undefined || problem.status === 404
        ? h(
            "p",
            { class: "soft" },
            "Two windows with traffic make the first line; the first comes a window and its grace after traces arrive.",
          )
        : h(Missing, { problem, what: "history" })
      : h(Panels, { points, happened, standing }),
  );
}

/** @param {readonly AuditEvent[]} events @param {KeptCourse | undefined} course @param {string} service @param {string} namespace @returns {Happening[]} */
function happenings(events, course, service, namespace) {
  const deploys = (course?.deploys ?? []).filter((each) => service === "" || each.service === service);
  return [
    ...events.filter(({ kind }) => kind !== "outcome"),
    ...deploys.map((each) => Object.assign({ kind: /** @type {const} */ ("deploy"), namespace }, each)),
  ].sort((a, b) => a.atMs - b.atMs);
}

/** @param {readonly KeptPoint[]} points @param {number} range */
function within(points, range) {
  const fromMs = (points.at(-1)?.atMs ?? 0) - 1e3 * range;
  return points.filter(({ atMs }) => atMs >= fromMs);
}

/** @param {{ points: readonly KeptPoint[], happened: readonly Happening[], standing: Standing | undefined }} props */
function Panels({ happened, points, standing }) {
  const [index, setIndex] = useState(/** @type {number | null} */ (null));
  const [open, setOpen] = useState(/** @type {readonly Happening[]} */ ([]));
  const shown = points[index ?? points.length - 1] ?? points.at(-1);
  const [fromMs, untilMs] = [points[0]?.atMs ?? 0, points.at(-1)?.atMs ?? 0];
  const marks = useMemo(
    () => happened.filter(({ atMs }) => atMs >= fromMs && atMs <= untilMs),
    [happened, fromMs, untilMs],
  );
  const has = PANELS.filter(({ lines }) =>
    lines.some(({ value }) => points.some((point) => value(point) !== undefined)),
  );
  const name = standing?.objective === undefined ? "p95" : percentileName(standing.objective.percentile);
  return [
    h(
      "p",
      { class: "small number at", key: "time" },
      h("strong", null, clock(shown?.atMs ?? 0)),
      index === null ? " (newest)" : "",
      ` · ${name} ${ms(shown?.latencySeconds)} of ${ms(shown?.objectiveSeconds)}`,
      shown?.overRatio === undefined ? "" : ` · ${percent(shown.overRatio, 1)} of the requests over`,
    ),
    h(Marks, { key: "marks", marks, fromMs, untilMs, setOpen }),
    ...has.map((panel, at) =>
      h(PanelChart, {
        key: panel.name,
        panel,
        points,
        marks,
        shown,
        isLast: at === has.length - 1,
        setIndex,
      }),
    ),
    open.length > 0 &&
      h(
        "div",
        { key: "open", class: "opened", role: "status" },
        h(
          "ul",
          { class: "events small" },
          open
            .slice(-MOST_LISTED)
            .map((event) =>
              h(
                "li",
                { key: `${event.atMs} ${event.kind} ${"service" in event ? event.service : ""}` },
                h("span", { class: "soft" }, clock(event.atMs)),
                " ",
                h(Sign, { event }),
                " ",
                h(EventLine, { event }),
              ),
            ),
        ),
        open.length > MOST_LISTED &&
          h("p", { class: "soft small" }, `and ${open.length - MOST_LISTED} before these`),
        h("button", { onClick: () => setOpen([]) }, "Close"),
      ),
  ];
}

/** @param {{ panel: Panel, points: readonly KeptPoint[], marks: readonly Happening[], shown: KeptPoint | undefined, isLast: boolean, setIndex: (index: number | null) => void }} props */
function PanelChart({ isLast, marks, panel, points, setIndex, shown }) {
  const data = useMemo(() => dataOf(panel, points), [panel, points]);
  const version = useMemo(() => ({ marks, isLast }), [marks, isLast]);
  const values = panel.lines.map(
    ({ title, value }) => `${panel.lines.length > 1 ? `${title} ` : ""}${panel.write(shown && value(shown))}`,
  );
  return h(
    "div",
    { class: "panel" },
    h(
      "p",
      { class: "small" },
      h("strong", null, panel.title),
      " ",
      h("span", { class: "number" }, values.join(", ")),
    ),
    h(Chart, {
      data,
      version,
      height: panel.height + (isLast ? 28 : 0),
      options: () => options(panel, { marks, isLast, setIndex }),
      label: labelOf(panel, points),
    }),
  );
}

/** What happened, in buttons above the panels; those of one place are one. @param {{ marks: readonly Happening[], fromMs: number, untilMs: number, setOpen: (open: readonly Happening[]) => void }} props */
function Marks({ fromMs, marks, setOpen, untilMs }) {
  /** @type {{ place: number, events: Happening[] }[]} */
  const groups = [];
  for (const event of marks) {
    const place = (event.atMs - fromMs) / Math.max(1, untilMs - fromMs);
    const last = groups.at(-1);
    if (last !== undefined && place - last.place < NEAR) last.events.push(event);
    else groups.push({ place, events: [event] });
  }
  return h(
    "div",
    { class: "marks" },
    groups.map(({ events, place }) => {
      const [first] = events;
      const words = `${clock(first?.atMs ?? 0)}: ${events.length === 1 ? "1 event" : `${events.length} events`}`;
      const kind = events.some((each) => each.kind === "rollback")
        ? "warn"
        : events.every((each) => each.kind === "deploy")
          ? "deploy"
          : "";
      return h("button", {
        key: first?.atMs,
        class: kind,
        title: words,
        "aria-label": `Show ${words}`,
        style: { left: `calc(${LEFT}px + ${place} * (100% - ${LEFT + RIGHT}px))` },
        onClick: () => setOpen(events),
      });
    }),
  );
}

/** @param {Panel} panel @param {readonly KeptPoint[]} points @returns {uPlot.AlignedData} */
const dataOf = ({ lines }, points) => [
  points.map(({ atMs }) => atMs / 1e3),
  ...lines.map(({ value }) => points.map((point) => value(point) ?? null)),
];

/** @param {Panel} panel @param {readonly KeptPoint[]} points */
function labelOf({ lines, title, write }, points) {
  const parts = lines.map((line) => {
    const values = points.flatMap((point) => line.value(point) ?? []);
    return values.length === 0
      ? `${line.title} not known`
      : `${line.title} between ${write(Math.min(...values))} and ${write(Math.max(...values))}`;
  });
  return `${title} of ${points.length} windows: ${parts.join(", ")}`;
}

/** @param {Panel} panel @param {{ marks: readonly Happening[], isLast: boolean, setIndex: (index: number | null) => void }} more @returns {Omit<uPlot.Options, "width" | "height">} */
function options({ limit = 0, lines, name, unit }, { isLast, marks, setIndex }) {
  const [time, amount] = axes(unit);
  return {
    legend: { show: false },
    padding: [6, RIGHT, 6, 0],
    cursor: { y: false, sync: { key: "course" } },
    scales: { y: { range: (_plot, _least, most) => [0, 1.08 * Math.max(most, 1.05 * limit) || 1] } },
    axes: [
      { ...time, show: isLast },
      { ...amount, size: LEFT, space: 26 },
    ],
    series: [
      {},
      ...lines.map(({ stroke }, at) => ({
        stroke: colour(stroke),
        width: at === 0 ? 1.6 : 1.2,
        // A line needs two points: a first one alone is a dot.
        points: { size: 5, show: isShort },
        ...(at > 0 && { dash: [4, 3] }),
      })),
    ],
    hooks: {
      drawAxes: [(plot) => drawMarks(plot, marks, limit)],
      ...(name === "slo" && { setCursor: [(plot) => setIndex(plot.cursor.idx ?? null)] }),
    },
  };
}

/** @param {uPlot} plot @param {number} series */
const isShort = (plot, series) =>
  Array.from(plot.data[series] ?? []).filter((value) => typeof value === "number").length < 3;

/** A line for each time at which something was done, and one at the limit. @param {uPlot} plot @param {readonly Happening[]} marks @param {number} limit */
function drawMarks(plot, marks, limit) {
  const { bbox, ctx } = plot;
  /** @type {Record<string, string>} */
  const colours = { rollback: colour("warn"), deploy: colour("ink") };
  ctx.save();
  ctx.globalAlpha = 0.4;
  for (const { atMs, kind } of marks) {
    ctx.fillStyle = colours[kind] ?? colour("bar");
    ctx.fillRect(Math.round(plot.valToPos(atMs / 1e3, "x", true)), bbox.top, 1, bbox.height);
  }
  if (limit > 0) {
    ctx.globalAlpha = 1;
    ctx.fillStyle = colour("bad");
    ctx.fillRect(bbox.left, Math.round(plot.valToPos(limit, "y", true)), bbox.width, 1);
  }
  ctx.restore();
}
