import { h } from "preact";
import { useMemo } from "preact/hooks";
import { SIZES } from "./format.js";

/**
 * @import { ComponentChildren, VNode } from "preact"
 * @import { ApiProblem } from "./api.js"
 */

/** @param {{ title?: string, id?: string, children?: ComponentChildren, class?: string }} props */
export const Card = ({ title, id, children, class: name = "" }) =>
  h(
    "section",
    { class: `card ${name}`, ...(id && { id }), ...(title && { "aria-label": title }) },
    title && h("h2", null, title),
    children,
  );

/** @param {{ kind?: string, children?: ComponentChildren }} props */
export const Chip = ({ kind = "", children }) => h("span", { class: `chip ${kind}` }, children);

/** What is wrong and what to do. @param {{ kind?: string, title: string, children?: ComponentChildren }} props */
export const Notice = ({ kind = "", title, children }) =>
  h(
    "div",
    { class: `notice ${kind}`, role: kind === "bad" ? "alert" : "note" },
    h("strong", null, title),
    " ",
    children,
  );

/** In place of what could not be had. @param {{ problem: ApiProblem | undefined, what: string, title?: string }} props */
export const Missing = ({ problem, what, title = `No ${what}:` }) =>
  problem === undefined
    ? h("p", { class: "soft", role: "status" }, `Loading ${what} …`)
    : h(
        Notice,
        { kind: problem.status === 503 || problem.status === 404 ? "" : "bad", title },
        problem.message,
      );

/**
 * "3 → 5", or "3" where both are the same.
 * @param {{ now: number | undefined, then: number | undefined, write: (value: number | undefined) => string, advised?: boolean }} props
 */
export function FromTo({ now, then, write, advised = false }) {
  if (then === undefined || write(then) === write(now)) return h("span", null, write(now));
  const kind = advised || now === undefined ? "soft" : then > now ? "more" : "less";
  return h(
    "span",
    { title: advised ? "advice: nothing moves it" : undefined },
    now === undefined ? "?" : write(now),
    " → ",
    h("span", { class: kind }, write(then)),
  );
}

/**
 * One line for each size that differs.
 * @typedef {{ replicas?: number | undefined, cpuCores?: number | undefined, memoryBytes?: number | undefined }} AnySize
 * @param {{ before: AnySize, after: AnySize }} props
 */
export function Diff({ before, after }) {
  const changed = /** @type {(keyof typeof SIZES)[]} */ (Object.keys(SIZES)).filter(
    (size) => after[size] !== undefined && after[size] !== before[size],
  );
  return h(
    "span",
    { class: "diff" },
    changed.map((size) => {
      const { title, write } = SIZES[size];
      const [from, to] = [before[size], after[size] ?? 0];
      const kind = from === undefined ? "" : to > from ? "info" : "good";
      const text = from === undefined ? `${title} ${write(to)}` : `${title} ${write(from)} → ${write(to)}`;
      return h(Chip, { kind, key: size }, text);
    }),
  );
}

/** A share as a bar and a number. @param {{ ratio: number | undefined, text: string, warnAt?: number, badAt?: number }} props */
export function Share({ ratio, text, warnAt = 2, badAt = 2 }) {
  if (ratio === undefined) return h("span", { class: "soft" }, "–");
  const kind = ratio >= badAt ? "bad" : ratio >= warnAt ? "warn" : "";
  return h(
    "span",
    { class: `share ${kind}` },
    h("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, [
      h("rect", { width: 100, height: 8, class: "rail" }),
      h("rect", { width: 100 * Math.min(1, ratio), height: 8, class: "fill" }),
    ]),
    text,
  );
}

/** @param {{ label: string, children?: ComponentChildren, note?: ComponentChildren, kind?: string }} props */
export const Tile = ({ label, children, note, kind = "" }) =>
  h(
    "div",
    { class: `tile ${kind}` },
    h("dt", null, label),
    h("dd", null, children),
    note !== undefined && h("dd", { class: "soft small" }, note),
  );

/** A table with its rows. @param {{ caption?: string, head: readonly [string, string?][], rows: VNode[] }} props */
export const Table = ({ caption, head, rows }) =>
  h(
    "div",
    { class: "scroll", tabIndex: 0, role: "region", "aria-label": caption ?? head[0]?.[0] ?? "table" },
    h(
      "table",
      null,
      caption && h("caption", null, caption),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          head.map(([title, name = ""]) =>
            title === ""
              ? h("td", { key: title })
              : h("th", { scope: "col", class: name, key: title }, title),
          ),
        ),
      ),
      h("tbody", null, rows),
    ),
  );

/** An id that no other element has. @param {string} prefix */
export function useId(prefix) {
  return useMemo(() => `${prefix}-${Math.random().toString(36).slice(2, 8)}`, []);
}
