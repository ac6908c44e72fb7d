import { h } from "preact";
import { useAsk } from "./api.js";
import { clock, percent } from "./format.js";
import { Card, Chip, Missing } from "./parts.js";
import { of } from "./state.js";

/** @import { Pattern, PatternList } from "@tradewind/core/contract/pattern.ts" */
/** @import { Standing } from "./state.js" */

/** Patterns of what fails; the others are of the load. */
const FAILURES = new Set(["retry-storm", "fan-out", "scaling-lag", "limits", "co-location"]);

/** What the windows and the load show now, failures first. @param {{ standing: Standing | undefined }} props */
export function Patterns({ standing }) {
  const { answer, problem } = useAsk(standing && of("v1/patterns", standing), standing?.lastPlanAtMs);
  const list = /** @type {PatternList | undefined} */ (answer)?.patterns;
  return h(
    Card,
    { title: "Patterns in the windows and the load" },
    list === undefined
      ? h(Missing, { problem, what: "patterns" })
      : list.length === 0
        ? h("p", { class: "soft" }, "None: no shift of the load, no retry storm, no limit that is too low.")
        : h(
            "ul",
            { class: "events" },
            list.map((each) =>
              h("li", { key: `${each.kind} ${each.service} ${each.callee}` }, h(One, { each })),
            ),
          ),
  );
}

/** @param {{ each: Pattern }} props */
const One = ({ each: { confidence, kind, sinceMs, words } }) =>
  h(
    "span",
    null,
    h(Chip, { kind: FAILURES.has(kind) ? "bad" : "info" }, kind),
    ` ${words} `,
    h("span", { class: "soft small" }, `since ${clock(sinceMs)}, confidence ${percent(confidence)}`),
  );
