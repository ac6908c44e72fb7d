import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAsk } from "./api.js";
import { axes, Chart, colour } from "./chart.js";
import { EventLine, Sign } from "./event-words.js";
import { clock, count, money, ms, percent, percentileName, rate } from "./format.js";
import { OverrideBanner, OverrideForm } from "./overrides.js";
import { Card, Missing, Tile } from "./parts.js";
import { linkTo } from "./route.js";
import { isOf, of, verdictOf } from "./state.js";

/** @import uPlot from "uplot" */
/** @import { EventList, AuditEvent } from "@tradewind/core/contract/audit.ts" */
/** @import { Course, CoursePoint } from "@tradewind/core/contract/measured.ts" */
/** @import { Standing, ViewProps } from "./state.js" */
/** @import { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts" */

const RANGES = /** @type {const} */ ([
  ["5 min", 300],
  ["1 h", 3_600],
  ["6 h", 21_600],
  ["24 h", 86_400],
]);

/** What is wrong, what was done, what it costs. @param {ViewProps} props */
export function Overview({ known, standing }) {
  const { header } = known;
  const [range, setRange] = useState(/** @type {number} */ (RANGES[1][1]));
  const course = useCourse(header && standing, range);
  const events = useAsk(standing && of("v1/events", standing, { most: "500" }), header?.servedAtMs);
  const ready = useAsk(header && "readyz", header?.servedAtMs);
  const { answer } = /** @type {{ answer: Course | undefined }} */ (course);
  const all = /** @type {EventList | undefined} */ (events.answer)?.events ?? [];
  const own = all.filter((event) => isOf(event, standing));
  const services = known.recommendations.filter((each) => isOf(each, standing));
  if (header === undefined) return h("p", { role: "status" }, "Connecting to the scaler …");
  const missing = /** @type {{ missing: string[] } | undefined} */ (ready.answer)?.missing ?? [];
  return [
    h("h1", { key: "title", class: "unseen" }, "Overview"),
    h(Banner, { key: "banner", standing, last: own[0] }),
    h(OverrideBanner, { key: "overrides", known, standing }),
    h(Tiles, { key: "tiles", standing, point: answer?.points.at(-1), services }),
    h(LatencyCard, { key: "latency", standing, course, events: own, range, setRange }),
    h(
      "div",
      { class: "columns", key: "below" },
      h(LastDone, { events: own }),
      h(WhatIsMissing, { standing, missing }),
    ),
    services[0] !== undefined &&
      h(OverrideForm, {
        key: "override",
        known,
        target: { namespace: services[0].namespace, application: services[0].application },
        mayAll: true,
      }),
  ];
}

/** @param {{ events: readonly AuditEvent[] }} props */
const LastDone = ({ events }) =>
  h(
    Card,
    { title: "What was done last" },
    events.length === 0
      ? h("p", { class: "soft" }, "No decision has changed a size yet.")
      : h(
          "ul",
          { class: "events" },
          events
            .slice(0, 8)
            .map((event) =>
              h(
                "li",
                { key: `${event.atMs} ${event.kind} ${event.service}` },
                h("span", { class: "soft small" }, clock(event.atMs)),
                " ",
                h(Sign, { event }),
                " ",
                h(EventLine, { event }),
              ),
            ),
        ),
    h("p", { class: "small" }, h("a", { href: linkTo("timeline") }, "All events")),
  );

/** @param {{ standing: Standing | undefined, missing: readonly string[] }} props */
function WhatIsMissing({ missing, standing }) {
  const { policy, policyReason, problem, unmapped = [] } = standing ?? {};
  const all = [...new Set([...(problem === undefined ? [] : [problem]), ...missing, ...unmapped])];
  return h(
    Card,
    { title: "What is missing" },
    all.length === 0
      ? h("p", null, "Nothing: plans come, decisions are kept and served.")
      : h(
          "ul",
          null,
          all.map((each) => h("li", { key: each }, each)),
        ),
    policy !== undefined && h("p", { class: "soft small" }, `Level '${policy}' decides: ${policyReason}`),
  );
}

/** The windows of the range and no more: a day of them is a megabyte. @param {Standing | undefined} standing @param {number} range seconds */
function useCourse(standing, range) {
  const { lastPlanAtMs } = standing ?? {};
  const since = Math.max(
    0,
    Math.floor(((lastPlanAtMs ?? 0) / 1e3 - range) / (range / 20)) * (range / 20) * 1e3,
  );
  return useAsk(standing && of("v1/course", standing, { since: String(since) }), lastPlanAtMs);
}

/** In five seconds: what is wrong, and what was done. @param {{ standing: Standing | undefined, last: AuditEvent | undefined }} props */
function Banner({ standing, last }) {
  const { kind, word } = verdictOf(standing);
  const { cause, measuredLatencySeconds, objective } = standing ?? {};
  const figures =
    standing?.standing ??
    (objective &&
      `${percentileName(objective.percentile)} ${ms(measuredLatencySeconds)}, objective ${ms(objective.seconds)}`);
  return h(
    "div",
    { class: `banner ${kind}`, role: "status" },
    h(
      "div",
      { class: "row" },
      h("strong", { class: "verdict" }, word),
      h("span", { class: "figures" }, figures ?? standing?.problem ?? "The first window is being collected."),
    ),
    cause !== undefined &&
      kind === "bad" &&
      h("p", null, cause.summary, " ", h("a", { href: linkTo("incident") }, "Why, and what would help")),
    standing?.problem !== undefined &&
      objective !== undefined &&
      h("p", null, `The last decisions are served on: ${standing.problem}`),
    last !== undefined &&
      h(
        "p",
        { class: "small" },
        h("span", { class: "soft" }, `Last done, ${clock(last.atMs)}: `),
        h(EventLine, { event: last }),
      ),
  );
}

/** @param {{ standing: Standing | undefined, point: CoursePoint | undefined, services: readonly ServedRecommendation[] }} props */
function Tiles({ standing, point, services }) {
  const known = services.flatMap(({ replicasReady }) => replicasReady ?? []);
  const ready = known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
  const ofThem = known.length < services.length ? ` of ${count(known.length)}` : "";
  const wanted = services.reduce((sum, { replicas }) => sum + replicas, 0);
  const { costPerHour: cost, recommendedCostPerHour: then } = point ?? {};
  const saved = cost === undefined || then === undefined || cost === 0 ? undefined : (cost - then) / cost;
  const stale = services.filter(({ valid }) => !valid).length;
  return h(
    "dl",
    { class: "tiles" },
    h(
      Tile,
      {
        label: "Requests per second",
        note: `${percent(point?.overRatio, 1)} over the objective in the last window`,
      },
      rate(point?.requestsPerSecond),
    ),
    h(
      Tile,
      {
        label: "Cost per hour, running",
        note:
          saved === undefined
            ? "no size is known"
            : `${money(then)} as recommended: ${percent(Math.abs(saved))} ${saved >= 0 ? "saved" : "more"}`,
      },
      money(cost),
    ),
    h(
      Tile,
      {
        label: `Replicas ready${ofThem && `${ofThem} services`}`,
        note: `${count(wanted)} recommended, ${count(services.length)} services`,
      },
      count(ready),
    ),
    h(
      Tile,
      {
        label: "Level that decides",
        note: stale > 0 ? `${stale} services are not served: too old` : "all decisions are served",
      },
      standing?.policy ?? "–",
    ),
    standing?.regret !== undefined &&
      h(
        Tile,
        {
          label: "Forgone in this mode",
          note: `objective missed ${Math.round(standing.regret.missedSeconds)} s while more was recommended`,
        },
        money(standing.regret.savedCost),
      ),
  );
}

/** @param {{ standing: Standing | undefined, course: ReturnType<typeof useAsk>, events: readonly AuditEvent[], range: number, setRange: (seconds: number) => void }} props */
function LatencyCard({ standing, course, events, range, setRange }) {
  const points = /** @type {Course | undefined} */ (course.answer)?.points ?? [];
  const shown = useMemo(
    () => points.filter(({ atMs }) => atMs >= (points.at(-1)?.atMs ?? 0) - 1e3 * range),
    [points, range],
  );
  const data = useMemo(() => dataOf(shown), [shown]);
  const deploys = /** @type {Course | undefined} */ (course.answer)?.deploys;
  const marks = useMemo(
    () => [
      ...events.map(({ atMs, kind }) => ({ at: atMs / 1e3, kind })),
      ...(deploys ?? []).map(({ atMs }) => ({ at: atMs / 1e3, kind: "deploy" })),
    ],
    [events, deploys],
  );
  const name = standing?.objective === undefined ? "p95" : percentileName(standing.objective.percentile);
  return h(
    Card,
    { title: `${name} against the objective` },
    h(
      "div",
      { class: "row legend small soft" },
      h("span", { class: "key link" }, name),
      h("span", { class: "key bad" }, "objective"),
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
    shown.length < 2
      ? course.problem === undefined
        ? h(
            "p",
            { class: "soft" },
            "Two windows with traffic make the first line; the first comes a window and its grace after traces arrive.",
          )
        : h(Missing, { problem: course.problem, what: "course" })
      : h(Chart, {
          data,
          version: marks,
          height: 230,
          options: () => options(marks),
          label: labelOf(shown, name),
        }),
  );
}

/** @param {readonly CoursePoint[]} points @returns {uPlot.AlignedData} */
const dataOf = (points) => [
  points.map(({ atMs }) => atMs / 1e3),
  points.map(({ latencySeconds }) => (latencySeconds === undefined ? null : 1e3 * latencySeconds)),
  points.map(({ objectiveSeconds }) => 1e3 * objectiveSeconds),
];

/** @param {readonly CoursePoint[]} points @param {string} name */
function labelOf(points, name) {
  const missed = points.filter(
    ({ latencySeconds = 0, objectiveSeconds }) => latencySeconds > objectiveSeconds,
  ).length;
  const highest = Math.max(...points.map(({ latencySeconds = 0 }) => latencySeconds));
  return `${name} of ${points.length} windows: at most ${ms(highest)}, over the objective in ${missed}`;
}

/** @param {readonly { at: number, kind: string }[]} marks @returns {Omit<uPlot.Options, "width" | "height">} */
function options(marks) {
  const bad = colour("bad");
  return {
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, 1.08 * most)] } },
    axes: axes(" ms"),
    series: [
      {},
      { stroke: colour("link"), width: 1.6, points: { show: false } },
      { stroke: bad, width: 1.2, dash: [6, 4], points: { show: false } },
    ],
    hooks: { drawAxes: [(plot) => drawMarks(plot, marks)] },
  };
}

/** A line for each time at which something was done. @param {uPlot} plot @param {readonly { at: number, kind: string }[]} marks */
function drawMarks(plot, marks) {
  const { bbox, ctx, scales } = plot;
  const { min = 0, max = 0 } = scales["x"] ?? {};
  /** @type {Record<string, string>} */
  const colours = { rollback: colour("warn"), deploy: colour("ink") };
  ctx.save();
  for (const { at, kind } of marks) {
    if (at < (min ?? 0) || at > (max ?? 0)) continue;
    const x = Math.round(plot.valToPos(at, "x", true));
    ctx.fillStyle = colours[kind] ?? colour("bar");
    ctx.globalAlpha = 0.45;
    ctx.fillRect(x, bbox.top, 2, bbox.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(x - 3, bbox.top + bbox.height - 6, 8, 6);
  }
  ctx.restore();
}
