import dagre from "@dagrejs/dagre";
import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsk } from "./api.js";
import { count, ms, percent, rate } from "./format.js";
import { Card, Missing } from "./parts.js";
import { linkTo } from "./route.js";
import { of } from "./state.js";

/** @import { Measured, MeasuredCall, MeasuredService } from "@tradewind/core/contract/measured.ts" */
/** @import { ViewProps } from "./state.js" */

/** A picture of more says nothing, and takes seconds to lay out. */
const MOST_NODES = 120;
const NODE = { width: 172, height: 46 };
const ZOOM = { least: 0.2, most: 2.5 };

/**
 * What of dagre is used; its own types need those of a package that it does not bring.
 * @typedef {{ x: number, y: number }} Point
 * @typedef {object} Graph
 * @property {(options: object) => void} setGraph
 * @property {(make: () => object) => void} setDefaultEdgeLabel
 * @property {(name: string, box: { width: number, height: number }) => void} setNode
 * @property {(from: string, to: string) => void} setEdge
 * @property {() => { width?: number, height?: number }} graph
 * @property {(name: string) => Point} node
 * @property {(from: string, to: string) => { points: Point[] }} edge
 * @typedef {{ graphlib: { Graph: new () => Graph }, layout: (graph: Graph) => void }} Dagre
 */

/** Who calls whom, and where the time goes. @param {ViewProps} props */
export function CallMap({ known, route, standing }) {
  const { answer, problem } = useAsk(known.header && of("v1/measured", standing), standing?.lastPlanAtMs);
  const measured = /** @type {Measured | undefined} */ (answer);
  const [around, setAround] = useState(route.query.get("service") ?? "");
  const chosen = useMemo(() => measured && choose(measured, around), [measured, around]);
  const shape =
    chosen === undefined
      ? ""
      : `${chosen.services.map(({ service }) => service).join()} ${chosen.calls.map(({ callee, caller }) => `${caller}>${callee}`).join()}`;
  const places = useMemo(() => chosen && layOut(chosen), [shape]);
  if (measured === undefined || chosen === undefined || places === undefined)
    return [h("h1", { key: "title" }, "Map"), h(Missing, { key: "none", problem, what: "call graph" })];
  const hasShares = measured.services.some(({ tailShare }) => tailShare !== undefined);
  return [
    h(
      "div",
      { class: "row", key: "title" },
      h("h1", null, "Map"),
      h("input", {
        type: "search",
        list: "map-services",
        placeholder: "around a service",
        "aria-label": "Show what is around a service",
        value: around,
        onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ event) =>
          setAround(event.currentTarget.value),
      }),
      h(
        "datalist",
        { id: "map-services" },
        measured.services.slice(0, 5_000).map(({ service }) => h("option", { key: service, value: service })),
      ),
      h(
        "span",
        { class: "soft", role: "status" },
        chosen.services.length < measured.services.length
          ? `${chosen.services.length} of ${count(measured.services.length)} services: ${around === "" ? "those with most of the tail" : "those around it"}`
          : `${count(measured.services.length)} services`,
      ),
    ),
    h(
      Card,
      { key: "map", class: "map-card" },
      h(
        "div",
        { class: "row legend small soft" },
        hasShares
          ? "Filled by the service's share of the slowest route's tail; lines by calls per second."
          : "No models decide yet: shares of the tail come with the first planned window. Lines by calls per second.",
      ),
      h(Picture, { places, chosen }),
    ),
  ];
}

/** All services, or those that matter most. @param {Measured} measured @param {string} around @returns {Pick<Measured, "services" | "calls" | "entry">} */
function choose({ calls, entry, services }, around) {
  if (services.length <= MOST_NODES && around === "")
    return { calls: callsAmong(calls, new Set(services.map(({ service }) => service))), entry, services };
  const weight = (
    /** @type {MeasuredService} */ { requestsPerSecond = 0, selfTimeP95Seconds = 0, tailShare = 0 },
  ) => 1e6 * tailShare + requestsPerSecond * selfTimeP95Seconds;
  const wanted = services.some(({ service }) => service === around)
    ? new Set(
        [
          around,
          ...calls
            .filter(({ callee, caller }) => callee === around || caller === around)
            .flatMap(({ callee, caller }) => [callee, caller]),
        ].slice(0, MOST_NODES),
      )
    : new Set([
        entry,
        ...services
          .toSorted((a, b) => weight(b) - weight(a))
          .slice(0, MOST_NODES - 1)
          .map(({ service }) => service),
      ]);
  return {
    calls: callsAmong(calls, wanted),
    entry,
    services: services.filter(({ service }) => wanted.has(service)),
  };
}

/** @param {readonly MeasuredCall[]} calls @param {ReadonlySet<string>} services */
const callsAmong = (calls, services) =>
  calls.filter(({ callee, caller }) => services.has(caller) && services.has(callee) && caller !== callee);

/** What dagre knows a service by: it keeps names in plain objects, where `constructor` and `__proto__` are there already. @param {string} service */
const placeOf = (service) => `service ${service}`;

/** Places from left to right, callers before whom they call. @param {Pick<Measured, "services" | "calls">} chosen */
export function layOut({ calls, services }) {
  const { graphlib, layout } = /** @type {Dagre} */ (/** @type {unknown} */ (dagre));
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 70, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { service } of services) graph.setNode(placeOf(service), { ...NODE });
  for (const { callee, caller } of calls) graph.setEdge(placeOf(caller), placeOf(callee));
  layout(graph);
  const { height = 0, width = 0 } = graph.graph();
  return {
    width,
    height,
    nodes: new Map(services.map(({ service }) => [service, graph.node(placeOf(service))])),
    edges: calls.map(({ callee, caller }) => graph.edge(placeOf(caller), placeOf(callee)).points),
  };
}

/** @param {{ places: ReturnType<typeof layOut>, chosen: Pick<Measured, "services" | "calls" | "entry"> }} props */
function Picture({ chosen, places }) {
  const most = Math.max(1e-9, ...chosen.calls.map(({ callsPerSecond }) => callsPerSecond));
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [zoom, setZoom] = useState(1);
  useEffect(() => {
    const { clientWidth = 0 } = place.current ?? {};
    setZoom(Math.min(1.15, Math.max(0.55, clientWidth / (places.width || 1))));
  }, [places]);
  const step = (/** @type {number} */ factor) =>
    setZoom(Math.min(ZOOM.most, Math.max(ZOOM.least, zoom * factor)));
  return h(
    "div",
    null,
    h(
      "div",
      { class: "row ranges map-zoom" },
      h("button", { onClick: () => step(0.8), "aria-label": "Smaller" }, "−"),
      h("button", { onClick: () => step(1.25), "aria-label": "Larger" }, "+"),
    ),
    h(
      "div",
      { class: "map", ref: place, tabIndex: 0, role: "region", "aria-label": "Call graph" },
      h(
        "svg",
        {
          width: places.width * zoom,
          height: places.height * zoom,
          viewBox: `0 0 ${places.width} ${places.height}`,
        },
        h(
          "defs",
          null,
          h(
            "marker",
            {
              id: "arrow",
              viewBox: "0 0 8 8",
              refX: 7,
              refY: 4,
              markerWidth: 9,
              markerHeight: 9,
              markerUnits: "userSpaceOnUse",
              orient: "auto",
            },
            h("path", { d: "M0 0 8 4 0 8Z", class: "arrow" }),
          ),
        ),
        places.edges.map((points, at) => {
          const call = chosen.calls[at];
          if (call === undefined) return null;
          return h(
            "path",
            {
              key: `${call.caller}>${call.callee}`,
              class: "edge",
              d: pathOf(points),
              "marker-end": "url(#arrow)",
              "stroke-width": 1 + (5 * Math.log1p(call.callsPerSecond)) / Math.log1p(most),
            },
            h(
              "title",
              null,
              `${call.caller} calls ${call.callee} ${rate(call.callsPerSecond)} times a second`,
            ),
          );
        }),
        chosen.services.map((service) =>
          h(Box, {
            key: service.service,
            service,
            at: places.nodes.get(service.service),
            isEntry: service.service === chosen.entry,
          }),
        ),
      ),
    ),
  );
}

/** @param {{ x: number, y: number }[]} points */
const pathOf = (points) =>
  points.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** @param {{ service: MeasuredService, at: { x: number, y: number } | undefined, isEntry: boolean }} props */
function Box({ service, at, isEntry }) {
  if (at === undefined) return null;
  const { requestsPerSecond, selfTimeP95Seconds, service: name, tailShare = 0 } = service;
  const kind = tailShare >= 0.4 ? "bad" : tailShare >= 0.15 ? "warn" : "";
  const words = `${rate(requestsPerSecond)}/s · ${ms(selfTimeP95Seconds)}`;
  return h(
    "a",
    { href: linkTo("services", [], { filter: name }) },
    h(
      "g",
      { class: `box ${kind}`, transform: `translate(${at.x - NODE.width / 2} ${at.y - NODE.height / 2})` },
      h("rect", { class: "back", width: NODE.width, height: NODE.height, rx: 7 }),
      h("rect", { class: "fill", y: NODE.height - 5, width: NODE.width * tailShare, height: 5, rx: 2 }),
      h(
        "text",
        { class: "name", x: 10, y: 18 },
        name.length > 20 ? `${name.slice(0, 19)}…` : name,
        isEntry ? " ⇠ users " : " ",
      ),
      h("text", { class: "words", x: 10, y: 34 }, `${words} `),
      service.tailShare !== undefined &&
        h("text", { class: "share-text", x: NODE.width - 8, y: 34 }, percent(tailShare)),
    ),
  );
}
