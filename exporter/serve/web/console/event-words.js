import { h } from "preact";
import { ownPart } from "./format.js";
import { Chip, Diff } from "./parts.js";

/** @import { AuditEvent } from "@tradewind/core/contract/audit.ts" */
/** @import { Deploy, Incident } from "@tradewind/core/contract/measured.ts" */

/** What can stand in a timeline. @typedef {AuditEvent | (Incident & { kind: "incident", namespace: string }) | (Deploy & { kind: "deploy", namespace: string })} Happening */

/** @param {Happening} event @returns {{ kind: string, word: string }} */
export function signOf(event) {
  if (event.kind === "incident") return { kind: "bad", word: "incident" };
  if (event.kind === "deploy") return { kind: "", word: "deploy" };
  if (event.kind === "outcome")
    return { kind: event.outcome.code === "outcome-met" ? "" : "warn", word: "outcome" };
  if (event.kind === "rollback") return { kind: "warn", word: "rollback" };
  if (event.kind === "calendar")
    return { kind: event.state === "awaiting" ? "warn" : "", word: `calendar ${event.state}` };
  if (event.kind === "brownout") return { kind: "warn", word: `brownout ${event.state}` };
  if (event.kind === "override") return { kind: "warn", word: `${event.action} ${event.state}` };
  if (event.kind === "setting") return { kind: "warn", word: event.setting };
  if (event.kind === "change")
    return { kind: event.state === "awaiting" ? "warn" : "", word: `approval ${event.state}` };
  return { kind: "info", word: event.mode === "act" ? "decision" : `decision (${event.mode})` };
}

/** @param {{ event: Happening }} props */
export const Sign = ({ event }) => {
  const { kind, word } = signOf(event);
  return h(Chip, { kind }, word);
};

/** What happened, in one line. @param {{ event: Happening, isBrief?: boolean }} props `isBrief`: without how the application stood then */
export function EventLine({ event, isBrief = false }) {
  const place = event.namespace === "" ? "" : h("span", { class: "soft" }, `${event.namespace}/`);
  if (event.kind === "incident") return h("span", null, place, " ", event.summary);
  if (event.kind === "deploy")
    return h(
      "span",
      null,
      place,
      h("strong", null, event.service),
      ": its newest pods run another template ",
      h("span", { class: "soft small" }, `${event.from} → ${event.to}`),
    );
  if (event.kind === "decision")
    return h(
      "span",
      null,
      place,
      h("strong", null, event.service),
      " ",
      h(Diff, { before: event.before, after: event.after }),
      " ",
      event.reason === undefined
        ? h(Codes, { codes: event.codes })
        : h("span", { class: "soft small" }, isBrief ? ownPart(event.reason.text) : event.reason.text),
    );
  return h("span", null, place, h("strong", null, event.service), `: ${event.text}`);
}

/** Codes of reasons; docs/reasons.md says what each means on call. @param {{ codes: readonly string[] }} props */
export const Codes = ({ codes }) => h("span", { class: "soft small" }, [...new Set(codes)].join(", "));
