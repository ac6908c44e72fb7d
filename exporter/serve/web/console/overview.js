import { h } from "preact";
import { useAsk } from "./api.js";
import { CourseCard } from "./course.js";
import { EventLine, Sign } from "./event-words.js";
import { clock, count, money, ms, percent, percentileName, rate } from "./format.js";
import { OverrideBanner, OverrideForm, toOverrideForm } from "./overrides.js";
import { Card, Chip, Tile } from "./parts.js";
import { linkTo } from "./route.js";
import { isOf, keyOf, of, verdictOf } from "./state.js";

/** @import { EventList, AuditEvent } from "@tradewind/core/contract/audit.ts" */
/** @import { Fleet, FleetRow } from "@tradewind/core/contract/fleet.ts" */
/** @import { KeptCourse, KeptPoint } from "@tradewind/core/contract/measured.ts" */
/** @import { Readiness } from "@tradewind/core/contract/ready.ts" */
/** @import { ShadowWeek } from "@tradewind/core/contract/shadow.ts" */
/** @import { Standing, ViewProps } from "./state.js" */
/** @import { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts" */

/** What is wrong, what was done, what it costs. @param {ViewProps} props */
export function Overview({ known, standing }) {
  const { header } = known;
  const version = header?.servedAtMs;
  // The newest window alone.
  const since = String((standing?.lastPlanAtMs ?? 0) - 60_000);
  const course = useAsk(standing && of("v1/course", standing, { since }), standing?.lastPlanAtMs);
  const fleet = useAsk(header && "v1/fleet?own=1", version);
  const events = useAsk(standing && of("v1/events", standing, { most: "60" }), version);
  const ready = useAsk(header && "readyz", version);
  const point = /** @type {KeptCourse | undefined} */ (course.answer)?.points.at(-1);
  const row = rowOf(/** @type {Fleet | undefined} */ (fleet.answer), standing);
  const all = /** @type {EventList | undefined} */ (events.answer)?.events ?? [];
  const own = all.filter((event) => isOf(event, standing));
  const services = known.recommendations.filter((each) => isOf(each, standing));
  if (header === undefined) return h("p", { role: "status" }, "Connecting to the scaler …");
  const missing = /** @type {{ missing: string[] } | undefined} */ (ready.answer)?.missing ?? [];
  return [
    h("h1", { key: "title", class: "unseen" }, "Overview"),
    h(Banner, { key: "banner", standing, row, point, last: own.find(({ kind }) => kind !== "outcome") }),
    h(OverrideBanner, { key: "overrides", known, standing }),
    h(Tiles, { key: "tiles", standing, point, row, services }),
    h(CourseCard, { key: "course", standing, version }),
    h(
      "div",
      { class: "columns", key: "below" },
      h(LastDone, { events: own }),
      h(Problems, { standing, missing }),
      h(Ready, { standing }),
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

/** What came of a decision, where that was measured already. @param {readonly AuditEvent[]} events @param {AuditEvent} event */
const outcomeOf = (events, event) =>
  event.kind !== "decision"
    ? undefined
    : events.find(
        (each) =>
          each.kind === "outcome" && each.decisionId === event.decisionId && each.service === event.service,
      );

/** @param {{ events: readonly AuditEvent[] }} props */
function LastDone({ events }) {
  const done = events.filter(({ kind }) => kind !== "outcome").slice(0, 5);
  return h(
    Card,
    { title: "What was done last" },
    done.length === 0
      ? h("p", { class: "soft" }, "No decision has changed a size yet.")
      : h(
          "ul",
          { class: "events" },
          done.map((event) => {
            const outcome = outcomeOf(events, event);
            return h(
              "li",
              { key: `${event.atMs} ${event.kind} ${event.service}` },
              h("span", { class: "soft small" }, clock(event.atMs)),
              " ",
              h(Sign, { event }),
              " ",
              h(EventLine, { event }),
              outcome?.kind === "outcome" &&
                h("div", { class: "small" }, h("strong", null, "Came of it: "), outcome.outcome.text),
            );
          }),
        ),
    h("p", { class: "small" }, h("a", { href: linkTo("timeline") }, "All events")),
  );
}

/** @param {Fleet | undefined} fleet @param {Standing | undefined} standing */
const rowOf = (fleet, standing) =>
  standing && fleet?.applications.find((each) => keyOf(each) === keyOf(standing));

/** Whether mode act is safe, or what is not met yet; nothing where it acts. @param {{ standing: Standing | undefined }} props */
function Ready({ standing }) {
  const { lastPlanAtMs, mode = "act" } = standing ?? {};
  const asked = useAsk(mode === "act" ? undefined : of("v1/ready", standing), lastPlanAtMs);
  const answer = /** @type {Readiness | undefined} */ (asked.answer);
  if (answer === undefined) return undefined;
  return h(
    Card,
    { title: answer.isSafe ? "Act is safe" : "Ready for act? Not yet" },
    h(
      "ul",
      { class: "events" },
      answer.checks.map(({ code, isMet, isNote, text }) =>
        h(
          "li",
          { key: code },
          h(
            Chip,
            { kind: isMet ? "good" : isNote ? "" : "warn" },
            isMet ? "ok" : isNote ? "note" : "not yet",
          ),
          " ",
          h("span", { class: "small" }, text),
        ),
      ),
    ),
  );
}

/** What the HPA before would have come to in the last week, by the models on the same load. @param {Partial<ShadowWeek>} props */
function AgainstHpa({ currency = "", week: shadow }) {
  if (shadow === undefined || shadow.requests === 0 || shadow.hpaCost.middle === 0) return undefined;
  const { cost, hpaCost, hpaRequestsOver, requests, requestsOver } = shadow;
  const time = duration(shadow.seconds);
  const slow = (/** @type {number} */ over) => percent(over / requests, 1);
  const hourly = (/** @type {number} */ whole) => money((3_600 * whole) / shadow.seconds);
  const change = cost / hpaCost.middle - 1;
  return [
    h(
      Tile,
      {
        key: "cost",
        label: `Cost against the HPA, ${time}`,
        note: `${hourly(cost)} ${currency} an hour instead of ${hourly(hpaCost.middle)} (${hourly(hpaCost.low)} to ${hourly(hpaCost.high)})`,
      },
      change < 0 ? `−${percent(-change)}` : `+${percent(change)}`,
    ),
    h(
      Tile,
      {
        key: "over",
        label: `Slow against the HPA, ${time}`,
        note: `instead of ${slow(hpaRequestsOver.middle)} (${slow(hpaRequestsOver.low)} to ${slow(hpaRequestsOver.high)}), by the models`,
      },
      slow(requestsOver),
    ),
  ];
}

/** @param {{ standing: Standing | undefined, missing: readonly string[] }} props */
function Problems({ missing, standing }) {
  const { policy, policyReason, problem, unmapped = [] } = standing ?? {};
  const all = [...new Set([...(problem === undefined ? [] : [problem]), ...missing, ...unmapped])];
  return h(
    Card,
    { title: "Problems" },
    all.length === 0
      ? h("p", null, "None with Tradewind: plans come, decisions are kept and served.")
      : h(
          "ul",
          null,
          all.map((each) => h("li", { key: each }, each)),
        ),
    policy !== undefined && h("p", { class: "soft small" }, `Level '${policy}' decides: ${policyReason}`),
  );
}

/** @param {string} text */
const asSentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * In five seconds: what is wrong and why, what would end it, what was done, how long nothing has to be done, and how to stop it.
 * @param {{ standing: Standing | undefined, row: FleetRow | undefined, point: KeptPoint | undefined, last: AuditEvent | undefined }} props
 */
function Banner({ last, point, row, standing }) {
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
      h(
        "p",
        null,
        asSentence(cause.text ?? cause.summary),
        " ",
        h("a", { href: linkTo("incident") }, "Why, and what would help"),
      ),
    kind !== "good" &&
      objective !== undefined &&
      h(
        "p",
        null,
        h("strong", null, "Time left: "),
        timeLeft(row, point, standing),
        " ",
        h("strong", null, "Stop it: "),
        h("button", { class: "plain", onClick: toOverrideForm }, "pause, hold or undo"),
      ),
    standing?.problem !== undefined &&
      objective !== undefined &&
      h("p", null, `The last decisions are served on: ${standing.problem}`),
    last !== undefined &&
      h(
        "p",
        { class: "small" },
        h("strong", null, `Last done, ${clock(last.atMs)}: `),
        h(Sign, { event: last }),
        " ",
        h(EventLine, { event: last, isBrief: true }),
      ),
  );
}

/**
 * How long the error budget lasts if it goes on as in the last window.
 * @param {{ leftRatio: number, budgetSeconds: number, overRatio: number | undefined, allowedRatio: number }} budget
 */
function lastsText({ allowedRatio, budgetSeconds, leftRatio, overRatio = 0 }) {
  if (overRatio <= allowedRatio) return "not burning now";
  if (leftRatio <= 0) return "still burning";
  return `gone in ${duration((leftRatio * budgetSeconds * allowedRatio) / (overRatio - allowedRatio))} at this rate`;
}

/** @param {number} seconds */
const duration = (seconds) =>
  seconds < 7_200
    ? `${Math.max(1, Math.round(seconds / 60))} min`
    : seconds < 172_800
      ? `${Math.round(seconds / 3_600)} h`
      : `${Math.round(seconds / 86_400)} days`;

/** @param {FleetRow | undefined} row @param {KeptPoint | undefined} point @param {Standing | undefined} standing */
const budgetLasts = (row, point, standing) =>
  lastsText({
    leftRatio: row?.budgetLeftRatio ?? 1,
    budgetSeconds: row?.budgetSeconds ?? 0,
    overRatio: point?.overRatio,
    allowedRatio: 1 - (standing?.objective?.percentile ?? 1),
  });

/** Until when nothing has to be done. @param {FleetRow | undefined} row @param {KeptPoint | undefined} point @param {Standing | undefined} standing */
function timeLeft(row, point, standing) {
  const { budgetLeftRatio: left, budgetSeconds = 0 } = row ?? {};
  if (left === undefined) return "not known before requests were counted.";
  if (left <= 0) return `none, the error budget of the last ${duration(budgetSeconds)} is spent.`;
  return `the error budget is ${budgetLasts(row, point, standing)}.`;
}

/** @param {{ row: FleetRow | undefined, point: KeptPoint | undefined, standing: Standing | undefined }} props */
function BudgetTile({ point, row, standing }) {
  const { budgetLeftRatio: left, budgetSeconds = 0 } = row ?? {};
  if (left === undefined)
    return h(Tile, { label: "Error budget left", note: "no request was counted yet" }, "–");
  const isOver = left < 0;
  return h(
    Tile,
    {
      label: "Error budget left",
      kind: isOver ? "bad" : "",
      note: `of the last ${duration(budgetSeconds)}; ${budgetLasts(row, point, standing)}`,
    },
    isOver ? `−${percent(-left)}` : percent(left),
  );
}

/** By less than this a cost is no other. */
const SAME_COST = 0.005;

/** @param {{ point: KeptPoint | undefined, isMoved: boolean, currency: string | undefined }} props */
function CostTile({ currency, isMoved, point }) {
  const { costPerHour: cost, recommendedCostPerHour: then } = point ?? {};
  const isKnown = cost !== undefined && then !== undefined && cost !== 0;
  const change = isKnown ? (then - cost) / cost : 0;
  const size = `${percent(Math.abs(change))} ${change < 0 ? "less" : "more"}`;
  const note = isKnown
    ? `${Math.abs(change) < SAME_COST ? "as recommended" : `${money(then)} as recommended, ${size}`}${isMoved ? "" : "; nothing is moved"}`
    : "no size is known";
  const unit = currency === undefined ? "; no currency is set" : "";
  return h(
    Tile,
    { label: "Cost per hour, running", note: `${note}${unit}` },
    `${money(cost)} ${currency ?? ""}`,
  );
}

/** @param {{ services: readonly ServedRecommendation[] }} props */
function ReplicasTile({ services }) {
  const ready = services.flatMap(({ replicasReady }) => replicasReady ?? []);
  const ofThem = ready.length < services.length ? ` of ${count(ready.length)} services` : "";
  const wanted = services.reduce((sum, { replicas }) => sum + replicas, 0);
  const stale = services.filter(({ valid }) => !valid).length;
  const old = stale > 0 ? `; ${stale} too old to be served` : "";
  return h(
    Tile,
    {
      label: `Replicas ready${ofThem}`,
      note: `${count(wanted)} recommended, ${count(services.length)} services${old}`,
    },
    count(ready.length === 0 ? undefined : ready.reduce((sum, each) => sum + each, 0)),
  );
}

/** @param {{ standing: Standing | undefined, point: KeptPoint | undefined, row: FleetRow | undefined, services: readonly ServedRecommendation[] }} props */
function Tiles({ point, row, services, standing }) {
  const overridden = services.filter(({ override }) => override !== undefined).length;
  const { mode = "observe", regret } = standing ?? {};
  const asked = useAsk(of("v1/shadow", standing), standing?.lastPlanAtMs);
  const shadow = /** @type {ShadowWeek | undefined} */ (asked.answer);
  return h(
    "dl",
    { class: "tiles" },
    h(BudgetTile, { point, row, standing }),
    h(
      Tile,
      {
        label: "Requests per second",
        note: `${percent(point?.overRatio, 1)} over the objective in the last window`,
      },
      rate(point?.requestsPerSecond),
    ),
    h(CostTile, { point, isMoved: mode === "act", currency: shadow?.currency }),
    h(ReplicasTile, { services }),
    h(
      Tile,
      {
        label: "Held by a person",
        note: h("button", { class: "plain", onClick: toOverrideForm }, "Pause, hold or undo"),
      },
      overridden === 0 ? "none" : `${count(overridden)} of ${count(services.length)}`,
    ),
    h(AgainstHpa, shadow ?? {}),
    regret !== undefined &&
      h(
        Tile,
        {
          label: `Missed savings (${mode})`,
          note: `objective missed ${Math.round(regret.missedSeconds)} s while more was recommended`,
        },
        money(regret.savedCost),
      ),
  );
}
