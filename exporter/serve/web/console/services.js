import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsk } from "./api.js";
import { STATES } from "./overrides.js";
import { Chip, FromTo, Notice, Share } from "./parts.js";
import { bytes, clock, cores, count, ms, ownPart, percent, rate, SIZES } from "./format.js";
import { linkTo } from "./route.js";
import { ServiceDetail } from "./service.js";
import { of } from "./state.js";

/** @import { Measured } from "@tradewind/core/contract/measured.ts" */
/** @import { ServedRecommendation, SizeChange } from "@tradewind/core/contract/recommendation.ts" */
/** @import { VNode } from "preact" */
/** @import { ViewProps } from "./state.js" */
/** @import { LastChange, Row } from "./service.js" */

/** @typedef {{ name: string, title: string, sort: (row: Row) => number | string, cell: (row: Row) => VNode | string, class?: string }} Column */

/** Rows drawn beyond those that are seen. */
const MARGIN = 8;
const NARROW = matchMedia("(max-width: 860px)");
const heightOf = () => (NARROW.matches ? 148 : 46);

/** The newest decision that changed a size, and what it changed. @param {ServedRecommendation} served @returns {LastChange | undefined} */
function lastChange({ setBy = {} }) {
  const changes = /** @type {[keyof typeof SIZES, SizeChange][]} */ (Object.entries(setBy)).filter(
    ([, { from }]) => from !== undefined,
  );
  const atMs = Math.max(...changes.map(([, each]) => each.decidedAtMs));
  const newest = changes.filter(([, each]) => each.decidedAtMs === atMs);
  const [first] = newest;
  if (first === undefined) return undefined;
  const what = newest
    .map(
      ([size, { from, to }]) => `${SIZES[size].title} ${SIZES[size].write(from)} → ${SIZES[size].write(to)}`,
    )
    .join(", ");
  return { atMs, what, why: first[1].reason };
}

/** @param {number | undefined} value descending, what is not known last */
const down = (value) => -(value ?? -1);

/** @type {readonly Column[]} */
const COLUMNS = [
  {
    name: "service",
    title: "Service",
    class: "wide",
    sort: ({ served }) => `${served.service} ${served.namespace}`,
    cell: ({ served }) =>
      h(
        "span",
        null,
        h("a", { href: linkTo("services", [served.namespace, served.service]) }, served.service),
        " ",
        h("span", { class: "soft small under" }, `${served.namespace} · ${served.policy}`),
        served.override !== undefined && h(Chip, { kind: "warn" }, STATES[served.override.kind]),
        served.refused !== undefined && h(Chip, { kind: "warn" }, "refused"),
        !served.valid && h(Chip, { kind: "bad" }, "not served"),
      ),
  },
  {
    name: "replicas",
    title: "Replicas",
    sort: ({ served }) => down(Math.abs(served.replicas - (served.replicasReady ?? served.replicas))),
    cell: ({ served }) => h(FromTo, { now: served.replicasReady, then: served.replicas, write: count }),
  },
  {
    name: "cpu",
    title: "CPU each",
    sort: ({ served }) => down(served.cpuCores ?? served.runningCpuCores),
    cell: ({ served }) =>
      h(FromTo, {
        now: served.runningCpuCores,
        then: served.cpuCores,
        write: cores,
        advised: served.advised?.includes("cpu") ?? false,
      }),
  },
  {
    name: "memory",
    title: "Memory each",
    sort: ({ served }) => down(served.memoryBytes ?? served.runningMemoryBytes),
    cell: ({ served }) =>
      h(FromTo, {
        now: served.runningMemoryBytes,
        then: served.memoryBytes,
        write: bytes,
        advised: served.advised?.includes("memory") ?? false,
      }),
  },
  {
    name: "rate",
    title: "Req/s",
    sort: ({ measured }) => down(measured?.requestsPerSecond),
    cell: ({ measured }) => rate(measured?.requestsPerSecond),
  },
  {
    name: "self",
    title: "Self p95",
    sort: ({ measured }) => down(measured?.selfTimeP95Seconds),
    cell: ({ measured }) => ms(measured?.selfTimeP95Seconds),
  },
  {
    name: "use",
    title: "CPU used",
    sort: ({ measured }) => down(measured?.cpuUsedRatio),
    cell: ({ measured }) =>
      h(Share, {
        ratio: measured?.cpuUsedRatio,
        text: percent(measured?.cpuUsedRatio),
        warnAt: 0.8,
        badAt: 0.95,
      }),
  },
  {
    name: "interference",
    title: "Interference",
    sort: ({ measured }) => down(measured?.interferenceRatio),
    cell: ({ measured }) =>
      h(Share, {
        ratio: measured?.interferenceRatio,
        text: percent(measured?.interferenceRatio),
        warnAt: 0.3,
        badAt: 0.6,
      }),
  },
  {
    name: "last",
    title: "Last change",
    class: "wide two",
    sort: ({ last }) => down(last?.atMs),
    cell: ({ last }) =>
      last === undefined
        ? h("span", { class: "soft" }, "none yet")
        : h(
            "span",
            { title: last.why },
            last.what,
            h("span", { class: "soft" }, ` at ${clock(last.atMs)}: ${ownPart(last.why)}`),
          ),
  },
  {
    name: "why",
    title: "Why now",
    class: "wide two",
    sort: ({ served }) => served.reason,
    cell: ({ served }) =>
      served.refused === undefined
        ? h("span", { title: served.reason }, ownPart(served.reason))
        : h("span", { class: "warn" }, `held: ${served.refused}`),
  },
];

const order = new Intl.Collator("en", { numeric: true });

/** @param {ViewProps} props */
export function Services({ known, standing, route }) {
  const measured = useAsk(known.header && of("v1/measured", standing), standing?.lastPlanAtMs);
  const [filter, setFilter] = useState(route.query.get("filter") ?? "");
  const [sorting, setSorting] = useState({ name: route.query.get("sort") ?? "replicas", isUp: false });
  const rows = useMemo(
    () => rowsOf(known.recommendations, standing, /** @type {Measured | undefined} */ (measured.answer)),
    [known.recommendations, measured.answer, standing?.name, standing?.namespace],
  );
  const shown = useMemo(() => sorted(rows, filter, sorting), [rows, filter, sorting]);
  const [namespace, service] = route.parts;
  const open = rows.find(({ served }) => served.namespace === namespace && served.service === service);
  return [
    h(
      "div",
      { class: "row", key: "bar" },
      h("h1", null, "Services"),
      h("input", {
        type: "search",
        placeholder: "filter (press /)",
        "aria-label": "Filter by service, namespace or level",
        value: filter,
        id: "filter",
        onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ event) =>
          setFilter(event.currentTarget.value),
      }),
      h(
        "span",
        { class: "soft", role: "status" },
        `${count(shown.length)} of ${count(rows.length)} services`,
      ),
      h(
        "label",
        { class: "narrow-only" },
        "Sort by ",
        h(
          "select",
          {
            value: sorting.name,
            onChange: (/** @type {{ currentTarget: HTMLSelectElement }} */ event) =>
              setSorting({ name: event.currentTarget.value, isUp: false }),
          },
          COLUMNS.map(({ name, title }) => h("option", { value: name, key: name }, title)),
        ),
      ),
    ),
    service !== undefined &&
      open === undefined &&
      rows.length > 0 &&
      h(
        Notice,
        { key: "unknown", kind: "warn", title: `No service ${namespace}/${service} here:` },
        "the link is of another application, or of a service that is decided on no more.",
      ),
    known.header === undefined
      ? h("p", { role: "status", key: "grid" }, "Connecting to the scaler …")
      : rows.length === 0
        ? h(
            "div",
            { class: "notice", key: "grid" },
            h("strong", null, "No service has a decision yet. "),
            "The first comes with the first plan, a window after traces arrive. `tradewind doctor` says what is missing.",
          )
        : h(Grid, { key: "grid", rows: shown, sorting, setSorting }),
    open !== undefined &&
      h(ServiceDetail, {
        key: "detail",
        row: open,
        known,
        standing,
        onClose: () => (location.hash = linkTo("services")),
      }),
  ];
}

/** @param {readonly ServedRecommendation[]} served @param {ViewProps["standing"]} standing @param {Measured | undefined} measured @returns {Row[]} */
function rowsOf(served, standing, measured) {
  const byService = new Map(measured?.services.map((each) => [each.service, each]));
  return served
    .filter(
      ({ application, namespace }) =>
        standing?.namespace === undefined ||
        (application === standing.name && namespace === standing.namespace),
    )
    .map((each) => ({
      served: each,
      measured: measured?.namespace === each.namespace ? byService.get(each.service) : undefined,
      last: lastChange(each),
    }));
}

/** @param {readonly Row[]} rows @param {string} filter @param {{ name: string, isUp: boolean }} sorting */
function sorted(rows, filter, { isUp, name }) {
  const wanted = filter.trim().toLowerCase();
  const column = COLUMNS.find((each) => each.name === name) ?? COLUMNS[0];
  const keyed = rows
    .filter(({ served }) =>
      `${served.namespace}/${served.service} ${served.policy}`.toLowerCase().includes(wanted),
    )
    .map((row) => ({ row, key: column?.sort(row) ?? 0 }));
  keyed.sort(
    (a, b) =>
      (typeof a.key === "string" || typeof b.key === "string"
        ? order.compare(String(a.key), String(b.key))
        : a.key - b.key) || order.compare(a.row.served.service, b.row.served.service),
  );
  if (isUp) keyed.reverse();
  return keyed.map(({ row }) => row);
}

/** Only the rows that are seen are in the page. @param {{ rows: readonly Row[], sorting: { name: string, isUp: boolean }, setSorting: (sorting: { name: string, isUp: boolean }) => void }} props */
function Grid({ rows, sorting, setSorting }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [seen, setSeen] = useState({ top: 0, height: innerHeight });
  useEffect(() => {
    const look = () =>
      setSeen({ top: place.current?.scrollTop ?? 0, height: place.current?.clientHeight ?? innerHeight });
    const find = (/** @type {KeyboardEvent} */ event) => keyPressed(event, place.current);
    look();
    const resized = new ResizeObserver(look);
    if (place.current !== null) resized.observe(place.current);
    place.current?.addEventListener("scroll", look, { passive: true });
    addEventListener("keydown", find);
    return () => {
      resized.disconnect();
      removeEventListener("keydown", find);
    };
  }, []);
  const height = heightOf();
  const first = Math.max(0, Math.floor(seen.top / height) - MARGIN);
  const end = Math.min(rows.length, Math.ceil((seen.top + seen.height) / height) + MARGIN);
  const body = rows.slice(first, end);
  return h(
    "div",
    {
      class: "grid",
      ref: place,
      tabIndex: 0,
      role: "table",
      "aria-label": "Services",
      "aria-rowcount": rows.length + 1,
    },
    h(
      "div",
      { role: "rowgroup" },
      h(
        "div",
        { class: "head", role: "row", "aria-rowindex": 1 },
        COLUMNS.map(({ name, title }) => {
          const direction = name === sorting.name ? (sorting.isUp ? "ascending" : "descending") : "none";
          return h(
            "div",
            { role: "columnheader", "aria-sort": direction, key: name },
            h(
              "button",
              { onClick: () => setSorting({ name, isUp: name === sorting.name && !sorting.isUp }) },
              title,
              direction === "none" ? "" : sorting.isUp ? " ▲" : " ▼",
            ),
          );
        }),
      ),
    ),
    h(
      "div",
      { class: "body", role: "rowgroup", style: { height: `${rows.length * height}px` } },
      body.map((row, at) =>
        h(Line, {
          key: `${row.served.namespace}/${row.served.service}`,
          row,
          at: first + at,
          top: (first + at) * height,
        }),
      ),
    ),
  );
}

/** @param {{ row: Row, at: number, top: number }} props */
function Line({ row, at, top }) {
  const kind = !row.served.valid ? "bad" : row.served.refused === undefined ? "" : "warn";
  return h(
    "div",
    {
      class: `line ${kind}`,
      role: "row",
      "aria-rowindex": at + 2,
      style: { transform: `translateY(${top}px)` },
    },
    COLUMNS.map(({ cell, class: name = "", title }) =>
      h(
        "div",
        { role: "cell", class: name, key: title, ...(title !== "Service" && { "data-title": title }) },
        cell(row),
      ),
    ),
  );
}

/** `/` goes to the filter; arrows go from service to service. @param {KeyboardEvent} event @param {HTMLElement | null} grid */
function keyPressed(event, grid) {
  const { activeElement } = document;
  const isTyping = activeElement instanceof HTMLInputElement || activeElement instanceof HTMLSelectElement;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    document.getElementById("filter")?.focus();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  if (
    step === undefined ||
    grid === null ||
    (isTyping && event.key !== "ArrowDown") ||
    document.querySelector("dialog[open]")
  )
    return;
  const links = /** @type {HTMLElement[]} */ ([...grid.querySelectorAll(".line a")]).sort(
    (a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top,
  );
  const at = links.findIndex((link) => link === activeElement);
  const next =
    at < 0
      ? links.find((link) => link.getBoundingClientRect().top > grid.getBoundingClientRect().top)
      : links[at + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}
