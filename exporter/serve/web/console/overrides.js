import { h } from "preact";
import { useState } from "preact/hooks";
import { ask, useAsk } from "./api.js";
import { Card, Chip, Notice, useId } from "./parts.js";

/** @import { ListedOverride, OverrideList, OverrideInForce, OverrideTarget } from "@tradewind/core/contract/override.ts" */
/** @import { Known, Standing } from "./state.js" */

/** What a chip says of a service. @type {Record<OverrideInForce["kind"], string>} */
export const STATES = { pause: "paused", hold: "held", floor: "floor", undo: "set back" };

const LENGTHS = /** @type {const} */ ([
  ["30 min", 1_800],
  ["1 h", 3_600],
  ["4 h", 14_400],
  ["24 h", 86_400],
]);
const KINDS = /** @type {const} */ ([
  ["pause", "Pause"],
  ["hold", "Hold"],
  ["floor", "Floor"],
  ["undo", "Undo last change"],
]);

const FORM_ID = "override";

/** Shows the form, with the hand on its first field. */
export function toOverrideForm() {
  const form = document.getElementById(FORM_ID);
  if (form === null) return;
  form.scrollIntoView({ block: "center" });
  // Where nothing can be entered the sentence that says so is read out.
  form.tabIndex = -1;
  (form.querySelector("input") ?? form).focus();
}

/** Kept while the page is open, so that it is typed once. */
let lastToken = "";

/** @param {OverrideTarget} target @returns {Record<string, string>} */
function wordsOf({ application, namespace, service }) {
  return {
    ...(namespace !== undefined && { namespace }),
    ...(application !== undefined && { application }),
    ...(service !== undefined && { name: service }),
  };
}

/** @param {Record<string, string>} words */
const order = async (words) =>
  ask("v1/overrides", {
    method: "POST",
    headers: { authorization: `Bearer ${lastToken}`, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(words).toString(),
  });

/** What is overridden now, again whenever that may have changed. @param {Known} known @param {number} ordered */
function useOverrides(known, ordered) {
  const { answer } = useAsk(known.header && "v1/overrides", `${known.header?.servedAtMs} ${ordered}`);
  return /** @type {OverrideList | undefined} */ (answer);
}

/** @param {ListedOverride} override @param {OverrideTarget} of */
const concerns = ({ target }, of) =>
  /** @type {const} */ (["namespace", "application", "service"]).every(
    (part) => target[part] === undefined || of[part] === undefined || target[part] === of[part],
  );

/** Who holds what of an application until when, with the button that ends it. @param {{ known: Known, standing: Standing | undefined }} props */
export function OverrideBanner({ known, standing }) {
  const [released, setReleased] = useState(0);
  const [words, setWords] = useState("");
  const list = useOverrides(known, released);
  const of = { namespace: standing?.namespace, application: standing?.name };
  const inForce = list?.overrides.filter((each) => each.ended === undefined && concerns(each, of)) ?? [];
  if (inForce.length === 0) return undefined;
  /** @param {ListedOverride} override */
  const release = async ({ target }) => {
    if (lastToken === "") return setWords("Give a token below first.");
    try {
      await order({ kind: "release", ...wordsOf(target) });
      setWords("");
      setReleased(released + 1);
    } catch (error) {
      setWords(error instanceof Error ? error.message : "no answer");
    }
    return undefined;
  };
  return h(
    Notice,
    { kind: "warn", title: inForce.length === 1 ? "Overridden." : `${inForce.length} overrides.` },
    h(
      "ul",
      { class: "events" },
      inForce.map((each) =>
        h(
          "li",
          { key: each.id, class: "row" },
          h("strong", null, nameOf(each.target)),
          h("span", null, each.text),
          each.notes?.map((note) => h("span", { class: "soft small", key: note }, note)),
          list?.takesOverrides === true &&
            h("button", { onClick: () => void release(each) }, `Release ${nameOf(each.target)}`),
        ),
      ),
    ),
    h("span", { role: "status", class: "bad" }, words),
  );
}

/** @param {OverrideTarget} target */
const nameOf = ({ application, namespace, service }) =>
  service ?? application ?? (namespace === undefined ? "everything" : `everything in ${namespace}`);

/**
 * The hand on the wheel: pause, hold, floor, undo.
 * @param {{ known: Known, target: OverrideTarget, mayAll?: boolean }} props
 */
export function OverrideForm({ known, mayAll = false, target }) {
  const [ordered, setOrdered] = useState(0);
  const [isAll, setAll] = useState(false);
  const [form, setForm] = useState({ reason: "", forSeconds: "1800", replicas: "", token: lastToken });
  const [words, setWords] = useState({ kind: "", text: "" });
  const ids = [useId("reason"), useId("length"), useId("replicas"), useId("token"), useId("all")];
  const list = useOverrides(known, ordered);
  if (list === undefined) return undefined;
  const title = "Stop it, or hold it";
  if (list.takesOverrides !== true)
    return h(
      Card,
      { title, id: FORM_ID },
      h(
        "p",
        { class: "soft" },
        "Read only: start the scaler with --http-token-file to pause and hold here, or annotate the Application: docs/override.md.",
      ),
    );
  /** @param {string} kind */
  const give = async (kind) => {
    lastToken = form.token;
    const missing = form.token === "" ? "Give a token with the scope override first." : "Say why first.";
    if (form.token === "" || form.reason.trim() === "") return setWords({ kind: "bad", text: missing });
    const hasReplicas = form.replicas !== "" && (kind === "hold" || kind === "floor");
    try {
      const { overrides } = /** @type {OverrideList} */ (
        await order({
          kind,
          reason: form.reason.trim(),
          forSeconds: form.forSeconds,
          ...(hasReplicas && { replicas: form.replicas }),
          ...(isAll ? {} : wordsOf(target)),
        })
      );
      const text = overrides.flatMap(({ notes = [], target: of, text: said }) =>
        [`${nameOf(of)} ${said}`].concat(notes),
      );
      setWords({ kind: "good", text: text.join("; ") });
      setOrdered(ordered + 1);
    } catch (error) {
      setWords({ kind: "bad", text: error instanceof Error ? error.message : "no answer" });
    }
    return undefined;
  };
  /** @param {keyof typeof form} field @param {string | undefined} id @param {string} label @param {Record<string, unknown>} more */
  const input = (field, id, label, more) => [
    h("label", { for: id, key: `${field}-label` }, label),
    h("input", {
      id,
      key: field,
      value: form[field],
      onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ event) =>
        setForm({ ...form, [field]: event.currentTarget.value }),
      ...more,
    }),
  ];
  return h(
    Card,
    { title, id: FORM_ID },
    h(
      "div",
      { class: "row" },
      input("reason", ids[0], "Reason", { type: "text", maxlength: 200, placeholder: "bad deploy, ticket" }),
      h("label", { for: ids[1] }, "For"),
      h(
        "select",
        {
          id: ids[1],
          value: form.forSeconds,
          onChange: (/** @type {{ currentTarget: HTMLSelectElement }} */ event) =>
            setForm({ ...form, forSeconds: event.currentTarget.value }),
        },
        LENGTHS.map(([name, seconds]) => h("option", { value: String(seconds), key: name }, name)),
      ),
      input("replicas", ids[2], "Replicas", { type: "number", min: 0, placeholder: "as they are" }),
      input("token", ids[3], "Token", { type: "password", autocomplete: "off" }),
    ),
    h(
      "div",
      { class: "row" },
      KINDS.map(([kind, name]) => h("button", { key: kind, onClick: () => void give(kind) }, name)),
      mayAll && [
        h("input", {
          id: ids[4],
          key: "all",
          type: "checkbox",
          checked: isAll,
          onChange: () => setAll(!isAll),
        }),
        h("label", { for: ids[4], key: "all-label" }, "all applications"),
      ],
      h(Chip, null, isAll ? "everything" : nameOf(target)),
      h("span", { role: "status", class: words.kind }, words.text),
    ),
    h(
      "p",
      { class: "soft small" },
      "Pause changes nothing. Hold keeps the sizes, floor at least these replicas. Undo goes back to before the last change and holds it.",
    ),
  );
}
