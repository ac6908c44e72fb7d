import { h } from "preact";
import { useState } from "preact/hooks";
import { ask, useAsk } from "./api.js";
import { date, percent } from "./format.js";
import { Card, Chip, Missing, Notice, Table, useId } from "./parts.js";

/** @import { ApiProblem } from "./api.js" */
/** @import { CalendarList } from "@tradewind/core/contract/calendar.ts" */
/** @import { Change, ChangeList } from "@tradewind/core/contract/change.ts" */
/** @import { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts" */
/** @import { ViewProps } from "./state.js" */

/** Changes that wait for a person, and calendars. @param {ViewProps} props */
export function Plans({ known }) {
  const version = known.header?.servedAtMs;
  const [decided, setDecided] = useState(0);
  const changes = useAsk(known.header && "v1/changes", `${version} ${decided}`);
  const calendars = useAsk(known.header && "v1/calendars", version);
  return [
    h("h1", { key: "title" }, "Calendars and approvals"),
    h(Approvals, {
      key: "changes",
      recommendations: known.recommendations,
      list: /** @type {ChangeList | undefined} */ (changes.answer),
      problem: changes.problem,
      onDecided: () => setDecided(decided + 1),
    }),
    h(Calendars, {
      key: "calendars",
      recommendations: known.recommendations,
      list: /** @type {CalendarList | undefined} */ (calendars.answer),
      problem: calendars.problem,
    }),
  ];
}

/** @param {{ list: ChangeList | undefined, problem: ApiProblem | undefined, recommendations: readonly ServedRecommendation[], onDecided: () => void }} props */
function Approvals({ list, onDecided, problem, recommendations }) {
  const [who, setWho] = useState({ by: "", token: "" });
  const ids = [useId("by"), useId("token")];
  if (list === undefined)
    return h(Card, { title: "Changes that wait" }, h(Missing, { problem, what: "changes" }));
  const waiting = list.changes.filter(({ state }) => state === "awaiting" || state === "approved");
  const past = list.changes.filter((each) => !waiting.includes(each));
  return h(
    Card,
    { title: "Changes that wait" },
    waiting.length === 0
      ? h(
          "p",
          { class: "soft" },
          "None. Large changes wait here once the Application has `approval: {}`; without it every change goes by itself.",
        )
      : h(
          "div",
          { class: "stack" },
          list.takesVerdicts === true
            ? h(
                "div",
                { class: "row" },
                h("label", { for: ids[0] }, "Note"),
                h("input", {
                  id: ids[0],
                  type: "text",
                  maxlength: 200,
                  placeholder: "your name, a ticket",
                  value: who.by,
                  onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ event) =>
                    setWho({ ...who, by: event.currentTarget.value }),
                }),
                h("label", { for: ids[1] }, "Token"),
                h("input", {
                  id: ids[1],
                  type: "password",
                  autocomplete: "off",
                  value: who.token,
                  onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ event) =>
                    setWho({ ...who, token: event.currentTarget.value }),
                }),
              )
            : h(
                Notice,
                { title: "Read only." },
                "Start the scaler with --http-token-file to approve here, or annotate the Application: docs/execution.md.",
              ),
          list.takesVerdicts === true &&
            h(
              "p",
              { class: "soft small" },
              "Each scaler takes its own verdicts, and of two the HPA follows the larger number: annotate the Application to decide for all of them.",
            ),
          h(
            "ul",
            { class: "events" },
            waiting.map((change) =>
              h(
                "li",
                { key: change.id },
                h(Waiting, {
                  change,
                  who,
                  mayDecide: list.takesVerdicts === true,
                  onDecided,
                  why: recommendations.find(
                    ({ namespace, service }) => namespace === change.namespace && service === change.service,
                  )?.reason,
                }),
              ),
            ),
          ),
        ),
    past.length > 0 &&
      h(
        "details",
        null,
        h("summary", null, `${past.length} decided or expired`),
        h(Table, {
          caption: "The last day",
          head: [["Service"], ["Change"], ["State"], ["By"]],
          rows: past
            .slice(0, 100)
            .map((each) =>
              h(
                "tr",
                { key: each.id },
                h("td", null, each.service),
                h("td", null, each.text),
                h("td", null, each.state),
                h("td", null, deciderOf(each)),
              ),
            ),
        }),
      ),
  );
}

/** `ann`, `default (ticket 4711)` @param {Change} change */
const deciderOf = ({ by = "–", note }) => (note === undefined ? by : `${by} (${note})`);

/** @param {{ change: Change, who: { by: string, token: string }, mayDecide: boolean, onDecided: () => void, why: string | undefined }} props */
function Waiting({ change, mayDecide, onDecided, who, why }) {
  const [words, setWords] = useState("");
  const { expiresMs, id, namespace, service, state } = change;
  const { from, notBeforeMs, to } =
    change.kind === "size" ? change : { from: 0, to: 0, notBeforeMs: undefined };
  /** @param {"approve" | "refuse"} verdict */
  const decide = async (verdict) => {
    if (who.token === "") return setWords("Give a token that may approve first.");
    try {
      await ask(`v1/changes/${id}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${who.token}`,
          "content-type": "application/x-www-form-urlencoded",
        },
        body: new URLSearchParams({ verdict, by: who.by.trim() }).toString(),
      });
      setWords("");
      onDecided();
    } catch (error) {
      setWords(error instanceof Error ? error.message : "no answer");
    }
    return undefined;
  };
  const share = from === 0 ? "" : ` (${to >= from ? "+" : "−"}${percent(Math.abs(to / from - 1))})`;
  return h(
    "div",
    { class: "row" },
    h(Chip, { kind: state === "awaiting" ? "warn" : "good" }, state),
    h("strong", null, service),
    h("span", { class: "soft" }, namespace),
    h("span", null, `${change.text}${share}`),
    h(
      "span",
      { class: "soft" },
      notBeforeMs === undefined ? `expires ${date(expiresMs)}` : `not before ${date(notBeforeMs)}`,
    ),
    mayDecide &&
      state === "awaiting" &&
      h(
        "span",
        { class: "row" },
        h("button", { class: "primary", onClick: () => void decide("approve") }, "Approve"),
        h("button", { onClick: () => void decide("refuse") }, "Refuse"),
      ),
    h("span", { role: "status", class: "bad" }, words),
    why !== undefined && h("p", { class: "soft small whole" }, why),
  );
}

/** Services that a calendar names and nothing is recommended for, in an application that has recommendations. @param {CalendarList["calendars"][number]} listed @param {readonly ServedRecommendation[]} recommendations */
function unknownIn({ application, calendar, namespace }, recommendations) {
  const own = recommendations.filter(
    (each) => each.application === application && each.namespace === namespace,
  );
  const known = new Set(own.map(({ service }) => service));
  return known.size === 0 ? [] : (calendar.services ?? []).filter((each) => !known.has(each));
}

/** @param {CalendarList["calendars"][number]["calendar"]["floor"]} floor */
function floorText({ replicas, timesUsual } = {}) {
  if (timesUsual !== undefined) return `${timesUsual} × usual`;
  return replicas ?? "–";
}

/** @param {{ list: CalendarList | undefined, problem: ApiProblem | undefined, recommendations: readonly ServedRecommendation[] }} props */
function Calendars({ list, problem, recommendations }) {
  if (list === undefined) return h(Card, { title: "Calendars" }, h(Missing, { problem, what: "calendars" }));
  if (list.calendars.length === 0)
    return h(
      Card,
      { title: "Calendars" },
      h(
        "p",
        { class: "soft" },
        "None that this scaler reads. Write `calendars` into the Application and give it to the scaler with --config: docs/calendars.md.",
      ),
    );
  return h(
    Card,
    { title: "Calendars" },
    h(Table, {
      caption: "Least and most replicas by the time",
      head: [["Calendar"], ["Services"], ["Floor", "number"], ["Ceiling", "number"], ["Window"], ["Pattern"]],
      rows: list.calendars.map((listed) => {
        const { application, calendar, namespace, window } = listed;
        const unknown = unknownIn(listed, recommendations);
        return h(
          "tr",
          { key: `${namespace}/${application}/${calendar.name}` },
          h(
            "td",
            null,
            h("strong", null, calendar.name),
            " ",
            h("span", { class: "soft small" }, `${namespace}/${application}`),
          ),
          h(
            "td",
            null,
            calendar.services?.join(", ") ?? "all",
            unknown.length > 0 && h("p", { class: "bad small" }, `no such service: ${unknown.join(", ")}`),
          ),
          h("td", { class: "number" }, floorText(calendar.floor)),
          h(
            "td",
            { class: "number" },
            calendar.ceiling === undefined
              ? "–"
              : `${calendar.ceiling.replicas}${calendar.ceiling.soft ? " (soft)" : ""}`,
          ),
          h(
            "td",
            null,
            window === undefined
              ? h("span", { class: "soft" }, "none to come")
              : h(
                  "span",
                  null,
                  h(Chip, { kind: window.isOpen ? "good" : "" }, window.isOpen ? "open" : "next"),
                  ` ${date(window.fromMs)} to ${date(window.untilMs)}`,
                ),
          ),
          h(
            "td",
            { class: "small" },
            h("code", null, `${calendar.from} … ${calendar.until}`),
            ` ${calendar.timeZone}`,
          ),
        );
      }),
    }),
  );
}
