import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useAsk } from "./api.js";
import { EventLine, Sign, signOf } from "./event-words.js";
import { clock, count } from "./format.js";
import { Card, Missing } from "./parts.js";
import { linkTo } from "./route.js";
import { Record } from "./service.js";
import { of } from "./state.js";

/** @import { EventList } from "@tradewind/core/contract/audit.ts" */
/** @import { IncidentList, KeptCourse } from "@tradewind/core/contract/measured.ts" */
/** @import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts" */
/** @import { Happening } from "./event-words.js" */
/** @import { Standing, ViewProps } from "./state.js" */

const KINDS = /** @type {const} */ ([
  ["", "Everything"],
  ["decision", "Decisions"],
  ["rollback", "Rollbacks"],
  ["brownout", "Brownouts"],
  ["override", "Overrides"],
  ["change", "Approvals"],
  ["setting", "Settings"],
  ["calendar", "Calendars"],
  ["incident", "Incidents"],
  ["deploy", "Deploys"],
]);
const PAGE = 100;

/** Everything that was decided, reverted, approved, deployed or went wrong. @param {ViewProps} props */
export function Timeline({ known, route, standing }) {
  const version = known.header?.servedAtMs;
  const events = useAsk(known.header && of("v1/events", standing, { most: "2000" }), version);
  const incidents = useAsk(known.header && of("v1/incidents", standing), standing?.lastPlanAtMs);
  const last = standing?.lastPlanAtMs;
  const course = useAsk(known.header && of("v1/course", standing, { since: String(last ?? 0) }), last);
  const [kind, setKind] = useState(route.query.get("kind") ?? "");
  const [filter, setFilter] = useState(route.query.get("service") ?? "");
  const [shown, setShown] = useState(PAGE);
  const all = useMemo(
    () =>
      happenings(
        /** @type {EventList | undefined} */ (events.answer),
        /** @type {IncidentList | undefined} */ (incidents.answer),
        /** @type {KeptCourse | undefined} */ (course.answer),
        standing,
      ),
    [events.answer, incidents.answer, course.answer, standing?.namespace],
  );
  const wanted = filter.trim().toLowerCase();
  const fitting = all.filter((each) => (kind === "" || each.kind === kind) && textOf(each).includes(wanted));
  return [
    h(
      "div",
      { class: "row", key: "bar" },
      h("h1", null, "Timeline"),
      h("input", {
        type: "search",
        placeholder: "service or reason code",
        "aria-label": "Filter by service or reason code",
        value: filter,
        onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ event) =>
          setFilter(event.currentTarget.value),
      }),
      h(
        "div",
        { class: "row ranges", role: "group", "aria-label": "Kind" },
        KINDS.map(([name, title]) =>
          h("button", { key: name, "aria-pressed": name === kind, onClick: () => setKind(name) }, title),
        ),
      ),
      h("span", { class: "soft", role: "status" }, `${count(fitting.length)} of ${count(all.length)}`),
    ),
    h(
      Card,
      { key: "list" },
      events.answer === undefined
        ? h(Missing, { problem: events.problem, what: "events" })
        : fitting.length === 0
          ? h(
              "p",
              { class: "soft" },
              all.length === 0
                ? "Nothing has changed yet. With --state the scaler keeps the audit trail over restarts."
                : "Nothing fits this filter.",
            )
          : h(
              "ol",
              { class: "timeline" },
              fitting
                .slice(0, shown)
                .map((event, at) => h(Entry, { key: keyOf(event), event, before: fitting[at - 1] })),
            ),
      fitting.length > shown &&
        h("button", { onClick: () => setShown(shown + PAGE) }, `${count(fitting.length - shown)} older`),
    ),
  ];
}

/** Newest first. @param {EventList | undefined} events @param {IncidentList | undefined} incidents @param {KeptCourse | undefined} course @param {Standing | undefined} standing @returns {Happening[]} */
function happenings(events, incidents, course, standing) {
  const { namespace = "" } = standing ?? {};
  const onsets = new Map((incidents?.incidents ?? []).map((each) => [each.onsetMs, each]));
  /** @type {Happening[]} */
  const missed = [...onsets.values()].map((each) =>
    Object.assign({ kind: /** @type {const} */ ("incident"), namespace }, each),
  );
  const deploys = (course?.deploys ?? []).map((each) =>
    Object.assign({ kind: /** @type {const} */ ("deploy"), namespace }, each),
  );
  return [...(events?.events ?? []), ...missed, ...deploys].sort((a, b) => b.atMs - a.atMs);
}

/** @param {Happening} each */
const keyOf = (each) =>
  each.kind === "incident"
    ? `incident ${each.onsetMs}`
    : `${each.kind} ${each.atMs} ${each.service} ${each.kind === "change" ? each.state : ""}`;

/** @param {Happening} each */
const textOf = (each) =>
  (each.kind === "incident"
    ? each.summary
    : each.kind === "deploy"
      ? `${each.namespace}/${each.service} deploy ${each.from} ${each.to}`
      : `${each.namespace}/${each.service} ${each.kind === "decision" ? (each.reason?.text ?? each.codes.join(" ")) : signOf(each).word}`
  ).toLowerCase();

/** @param {{ event: Happening, before: Happening | undefined }} props */
function Entry({ event, before }) {
  const day = new Date(event.atMs).toDateString();
  const isNewDay = before === undefined || new Date(before.atMs).toDateString() !== day;
  return h(
    "li",
    null,
    isNewDay && h("h2", { class: "day" }, day),
    h(
      "div",
      { class: "entry" },
      h("time", { class: "soft number", dateTime: new Date(event.atMs).toISOString() }, clock(event.atMs)),
      h("span", null, h(Sign, { event })),
      h(
        "div",
        null,
        h(EventLine, { event }),
        event.kind === "incident" &&
          h("p", { class: "small" }, h("a", { href: linkTo("incident", [String(event.atMs)]) }, "Why")),
        event.kind === "decision" && h(More, { event }),
      ),
    ),
  );
}

/** The record behind a decision, read when it is opened. @param {{ event: Extract<Happening, { kind: "decision" }> }} props */
function More({ event }) {
  const [isOpen, setOpen] = useState(false);
  const { answer, problem } = useAsk(
    isOpen ? `v1/decisions/${encodeURIComponent(event.decisionId)}` : undefined,
  );
  const record = /** @type {DecisionRecord | undefined} */ (answer);
  return h(
    "details",
    {
      class: "small",
      onToggle: (/** @type {{ currentTarget: HTMLDetailsElement }} */ toggled) =>
        setOpen(toggled.currentTarget.open),
    },
    h("summary", null, `Guard steps and replay of ${event.service}`),
    isOpen &&
      (record === undefined ? h(Missing, { problem, what: "decision record" }) : h(Record, { record })),
  );
}
