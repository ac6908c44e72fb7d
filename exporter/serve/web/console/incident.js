import { h } from "preact";
import { useAsk } from "./api.js";
import { clock, count, date, ms, percent, percentileName } from "./format.js";
import { Card, Chip, Missing, Notice, Table } from "./parts.js";
import { Patterns } from "./patterns.js";
import { linkTo } from "./route.js";
import { of } from "./state.js";

/** @import { Explanation } from "@tradewind/core/contract/explanation.ts" */
/** @import { IncidentList } from "@tradewind/core/contract/measured.ts" */
/** @import { ViewProps } from "./state.js" */

/** What each type of cause stands for. */
const TYPES = {
  C: "CPU",
  M: "memory",
  D: "disk",
  N: "network",
  I: "interference",
  L: "load",
  V: "a new version",
  X: "time not explained by CPU, memory or network",
};

/** Why the objective is missed, and what would end it. @param {ViewProps} props */
export function Incident({ known, route, standing }) {
  const [at] = route.parts;
  const { answer, problem } = useAsk(
    known.header && of("v1/explain", standing, at === undefined ? {} : { at }),
    at ?? standing?.lastPlanAtMs,
  );
  const incidents = useAsk(known.header && of("v1/incidents", standing), standing?.lastPlanAtMs);
  const list = /** @type {IncidentList | undefined} */ (incidents.answer)?.incidents ?? [];
  const byOnset = [...new Map(list.map((each) => [each.onsetMs, each])).values()];
  const explanation = /** @type {Explanation | undefined} */ (answer);
  return [
    h(
      "div",
      { class: "row", key: "title" },
      h("h1", null, "Incident"),
      at !== undefined && h("a", { href: linkTo("incident") }, "The newest window"),
    ),
    explanation === undefined
      ? h(Missing, { key: "none", problem, what: "explanation" })
      : h(Explained, { key: "explained", explanation }),
    h(Patterns, { key: "patterns", standing }),
    h(
      Card,
      { key: "before", title: "Missed objectives that were explained" },
      byOnset.length === 0
        ? h("p", { class: "soft" }, "None since the predictor started.")
        : h(
            "ul",
            { class: "events" },
            byOnset
              .slice(0, 50)
              .map((each) =>
                h(
                  "li",
                  { key: each.onsetMs },
                  h("a", { href: linkTo("incident", [String(each.atMs)]) }, date(each.onsetMs)),
                  ` ${each.summary}`,
                ),
              ),
          ),
    ),
  ];
}

/** @param {{ explanation: Explanation }} props */
function Explained({ explanation }) {
  const {
    atMs,
    causes,
    counterfactuals,
    harm,
    isMissed,
    measuredLatencySeconds,
    missing,
    notCauses,
    objective,
    onsetMs,
    opinion,
    pastWindows,
    summary,
    transcript,
  } = explanation;
  const name = percentileName(objective.percentile);
  return h(
    "div",
    { class: "stack" },
    h(
      Notice,
      {
        kind: isMissed ? "bad" : "good",
        title: isMissed ? `Objective missed since ${clock(onsetMs)}.` : "Objective met.",
      },
      h(
        "span",
        null,
        isMissed
          ? `At ${clock(atMs)}: ${summary}`
          : `${name} ${ms(measuredLatencySeconds)} of ${ms(objective.seconds)} at ${clock(atMs)}. ${summary}`,
      ),
      harm === "failures" && " Users notice failures.",
    ),
    causes.length > 0 &&
      h(
        "div",
        { class: "columns" },
        causes.map((cause, at) =>
          h(
            Card,
            {
              key: `${cause.service} ${cause.type}`,
              title: `${at + 1}. ${cause.service}: ${cause.evidence.length === 0 ? "cause not known" : TYPES[cause.type]}`,
            },
            h(Evidence, { cause, pastWindows }),
          ),
        ),
      ),
    counterfactuals.length > 0 &&
      h(
        Card,
        { title: "What would help, by the models" },
        !counterfactuals.some(({ ends }) => ends) &&
          h("p", { class: "warn" }, "No single change of these ends it."),
        h(Table, {
          caption: "Each change by itself; none is made by looking",
          head: [["Change"], ["Predicted", "number"], ["Verdict"]],
          rows: counterfactuals.map((each, at) =>
            h(
              "tr",
              { key: at },
              h("td", null, wordsOf(each)),
              h("td", { class: "number" }, predictedOf(each)),
              h("td", null, verdictOf(each)),
            ),
          ),
        }),
      ),
    (notCauses.length > 0 || missing.length > 0) &&
      h(
        "div",
        { class: "columns" },
        notCauses.length > 0 &&
          h(
            Card,
            { title: "Looked at, and not the cause" },
            h(
              "ul",
              null,
              notCauses.map((each) => h("li", { key: each.service }, `${each.service}: ${each.why}`)),
            ),
          ),
        missing.length > 0 &&
          h(
            Card,
            { title: "Not known" },
            h(
              "ul",
              null,
              missing.map((each) => h("li", { key: each }, each)),
            ),
          ),
      ),
    opinion !== undefined &&
      h(
        Card,
        {
          title: `What the model ${opinion.model} says${
            opinion.lateSeconds === undefined ? "" : ` (${Math.round(opinion.lateSeconds)} s late)`
          }`,
        },
        h("p", null, opinion.words),
        h("p", { class: "soft small" }, "Text only: its claims were checked, and nothing acts on it."),
      ),
    h(
      "details",
      null,
      h("summary", null, `The whole reasoning (${count(transcript.length)} characters)`),
      h("pre", { tabIndex: 0 }, transcript),
    ),
  );
}

/** @import { NamedCause, CheckedCounterfactual } from "@tradewind/core/contract/explanation.ts" */

/** @param {{ cause: NamedCause, pastWindows: number }} props */
const Evidence = ({ cause, pastWindows }) =>
  h(
    "div",
    { class: "stack" },
    h(
      "p",
      null,
      `Explains ${percent(cause.share)} of the added latency. `,
      cause.evidence.length === 0
        ? "Nothing was measured that says why, so no cause is claimed. "
        : `Confidence ${percent(cause.confidence)}. `,
      h("a", { href: linkTo("services", [], { filter: cause.service }) }, "The service"),
    ),
    cause.evidence.length > 0 &&
      h(Table, {
        caption: `Against the median of ${pastWindows} windows that met the objective`,
        head: [["Signal"], ["Now", "number"], ["Usual", "number"], [""]],
        rows: cause.evidence.map(({ baseline, bin, signal, value, words }) =>
          h(
            "tr",
            { key: signal },
            h("td", null, words),
            h("td", { class: "number" }, +value.toPrecision(3)),
            h("td", { class: "number" }, baseline === undefined ? "–" : +baseline.toPrecision(3)),
            h(
              "td",
              null,
              h(Bin, { bin, isUsual: baseline !== undefined && bin === "high" && value <= baseline }),
            ),
          ),
        ),
      }),
  );

/** High by itself is no news where it is usual. @param {{ bin: string, isUsual: boolean }} props */
const Bin = ({ bin, isUsual }) =>
  h(Chip, { kind: bin === "high" && !isUsual ? "bad" : "" }, isUsual ? `${bin}, as usual` : bin);

/** @param {CheckedCounterfactual} each */
const wordsOf = ({ from, resource, service, to }) =>
  resource === "replicas"
    ? `${service}: replicas ${from} → ${to}`
    : resource === "cpu"
      ? `${service}: CPU of each ${+from.toPrecision(3)} → ${+to.toPrecision(3)} cores`
      : resource === "memory"
        ? `${service}: memory of each ${Math.round(from / 2 ** 20)} → ${Math.round(to / 2 ** 20)} MiB`
        : `${service}: self time back from ${ms(from)} to ${ms(to)}`;

/** @param {CheckedCounterfactual} each */
const predictedOf = ({ tailAfterSeconds, tailBeforeSeconds }) =>
  `${ms(tailBeforeSeconds)} → ${ms(tailAfterSeconds)}`;

/** @param {CheckedCounterfactual} each */
const verdictOf = ({ ends, outcome }) =>
  ends
    ? h(Chip, { kind: "good" }, "meets the objective")
    : h(Chip, { kind: outcome === "better" ? "info" : outcome === "worse" ? "bad" : "" }, outcome);
