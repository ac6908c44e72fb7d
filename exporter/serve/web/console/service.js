import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, useAsk } from "./api.js";
import { CourseCard } from "./course.js";
import { bytes, clock, cores, count, date, ms, percent } from "./format.js";
import { OverrideForm } from "./overrides.js";
import { Diff, FromTo, Missing } from "./parts.js";
import { linkTo } from "./route.js";

/** @import { DecisionRecord, ServedRecommendation, SizeChange } from "@tradewind/core/contract/recommendation.ts" */
/** @import { Known, Standing } from "./state.js" */
/** @import { MeasuredService } from "@tradewind/core/contract/measured.ts" */

/** One service as the table has it. @typedef {{ served: ServedRecommendation, measured: MeasuredService | undefined, last: LastChange | undefined }} Row */
/** @typedef {{ atMs: number, what: string, why: string }} LastChange */

/** One service: what is recommended and why, who changed it, and how it came to that. @param {{ row: Row, known: Known, standing: Standing | undefined, onClose: () => void }} props */
export function ServiceDetail({ row, known, standing, onClose }) {
  const { served } = row;
  const { application, namespace, service } = served;
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const { answer, problem } = useAsk(
    `v1/decisions?${new URLSearchParams({ namespace, service })}`,
    served.decisionId,
  );
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const [record, ...earlier] =
    /** @type {{ decisions: DecisionRecord[] } | undefined} */ (answer)?.decisions ?? [];
  return h(
    "dialog",
    { ref: dialog, onClose, "aria-labelledby": "detail-title" },
    h(
      "div",
      { class: "detail" },
      h(
        "div",
        { class: "row" },
        h("h2", { id: "detail-title" }, service),
        h("span", { class: "soft" }, namespace),
        h("a", { href: linkTo("what-if", [], { service }) }, "What if …"),
        h("a", { href: linkTo("timeline", [], { service }) }, "Timeline"),
        h("form", { method: "dialog", class: "end" }, h("button", { autofocus: true }, "Close")),
      ),
      h(
        "p",
        null,
        "Now → recommended: replicas ",
        h(FromTo, { now: served.replicasReady, then: served.replicas, write: count }),
        ", CPU ",
        h(FromTo, { now: served.runningCpuCores, then: served.cpuCores, write: cores }),
        " cores each",
        ", memory ",
        h(FromTo, { now: served.runningMemoryBytes, then: served.memoryBytes, write: bytes }),
        " each.",
      ),
      h(
        "p",
        null,
        h("strong", null, "Why now: "),
        served.reason,
        served.refused !== undefined && ` Held: ${served.refused}`,
      ),
      h(
        "p",
        { class: "soft small" },
        `p95 of the routes through it ${ms(served.latencyBeforeSeconds)}, ${ms(served.latencyAfterSeconds)} predicted; confidence ${percent(served.confidence)}; level ${served.policy}.`,
      ),
      h(CourseCard, { standing, version: served.decisionId, service }),
      h(OverrideForm, { known, target: { namespace, application, service } }),
      h("h3", null, "What set each size"),
      h(
        "ul",
        null,
        /** @type {[string, SizeChange][]} */ (Object.entries(served.setBy ?? {})).map(([size, change]) =>
          h(
            "li",
            { key: size },
            h(Diff, { before: { [size]: change.from }, after: { [size]: change.to } }),
            ` at ${clock(change.decidedAtMs)}: ${change.reason}`,
          ),
        ),
      ),
      record === undefined ? h(Missing, { problem, what: "decision record" }) : h(Record, { record }),
      earlier.length > 0 && [
        h("h3", { key: "title" }, "Decisions that changed a size"),
        h(
          "ul",
          { key: "list" },
          earlier.map((each) =>
            h(
              "li",
              { key: each.id },
              `${date(each.decidedAtMs)}: `,
              h(Diff, { before: each.context.previous ?? {}, after: each.final }),
              ` ${each.wish.reason} `,
              h(Replay, { id: each.id }),
            ),
          ),
        ),
      ],
    ),
  );
}

/** What was asked for, and what each guard step made of it. @param {{ record: DecisionRecord }} props */
export const Record = ({ record }) =>
  h(
    "div",
    { class: "detail" },
    h("h3", null, `Decision of ${date(record.decidedAtMs)}, valid until ${clock(record.validUntilMs)}`),
    h(
      "ol",
      null,
      h(
        "li",
        null,
        `${record.wish.policy} proposed `,
        h(Diff, { before: {}, after: record.wish.allocation }),
        ` ${record.wish.reason}`,
      ),
      record.actions.map(({ after, before, reason, step }) =>
        h("li", { key: step }, `Guard step ${step}: `, h(Diff, { before, after }), ` ${reason}`),
      ),
      h("li", null, "Decided ", h(Diff, { before: {}, after: record.final })),
    ),
    h("p", null, h(Replay, { id: record.id })),
    h(
      "details",
      null,
      h("summary", null, "The whole record"),
      h("pre", { tabIndex: 0 }, JSON.stringify(record, null, 2)),
    ),
  );

/** Decides again on what the record says, and compares. @param {{ id: string }} props */
export function Replay({ id }) {
  const [words, setWords] = useState("");
  const replay = async () => {
    try {
      const { same, words: said } = /** @type {{ same: boolean, words: string }} */ (
        await ask(`v1/decisions/${encodeURIComponent(id)}/replay`)
      );
      setWords(
        same ? `The guard decides the same again. ${said.split("\n").at(-1)}.` : `Not the same: ${said}`,
      );
    } catch (error) {
      setWords(error instanceof Error ? error.message : "no answer");
    }
  };
  return h(
    "span",
    null,
    h("button", { class: "plain", onClick: () => void replay() }, "Replay"),
    " ",
    h("span", { role: "status", class: "small" }, words),
  );
}
