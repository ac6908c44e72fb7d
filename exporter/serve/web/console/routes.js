import { h } from "preact";
import { useAsk } from "./api.js";
import { ms, percent, percentileName, rate } from "./format.js";
import { Card, Chip, Missing, Notice, Table } from "./parts.js";
import { of } from "./state.js";

/** @import { ListedRoute, RouteList } from "@tradewind/core/contract/route-list.ts" */
/** @import { ViewProps } from "./state.js" */

/** Which routes count, and why the others do not. @param {ViewProps} props */
export function Routes({ standing }) {
  const { answer, problem } = useAsk(standing && of("v1/routes", standing), standing?.lastPlanAtMs);
  const list = /** @type {RouteList | undefined} */ (answer);
  if (list === undefined)
    return [h("h1", { key: "title" }, "Routes"), h(Missing, { key: "none", problem, what: "routes" })];
  const { moreRoutes, objective, routes, surprises } = list;
  const held = `${percentileName(objective.percentile)} ${ms(objective.seconds)}`;
  return [
    h("h1", { key: "title" }, "Routes"),
    ...surprises.map(({ about, message, remedy }) =>
      h(Notice, { key: `${about} ${message}`, kind: "warn", title: `${about}:` }, `${message}. ${remedy}`),
    ),
    h(
      Card,
      { key: "table" },
      h(Table, {
        caption: `The last window; ${held} unless a route has its own`,
        head: [["Route", "wide"], ["Class"], ["Req/s"], ["p50"], ["p95"], ["Objective"], ["Over"], ["Why"]],
        rows: routes.map(row),
      }),
      routes.length === 0 && h("p", { class: "soft" }, "No trace began in the last window."),
      moreRoutes > 0 && h("p", { class: "soft small" }, `${moreRoutes} more are left out.`),
    ),
  ];
}

/** @param {ListedRoute} route */
function row({ class: kind, counts, objective, overRatio, p50Seconds, p95Seconds, ...route }) {
  const isMissed = objective !== undefined && (overRatio ?? 0) > 1 - objective.percentile;
  const weight = route.weight === undefined || route.weight === 1 ? "" : ` × ${route.weight}`;
  return h(
    "tr",
    { key: `${kind} ${route.service} ${route.route}` },
    h("td", null, route.route),
    h("td", null, h(Chip, { kind: counts ? "info" : "" }, kind)),
    h("td", null, rate(route.requestsPerSecond)),
    h("td", null, ms(p50Seconds)),
    h("td", null, ms(p95Seconds)),
    h(
      "td",
      null,
      objective === undefined
        ? "–"
        : `${percentileName(objective.percentile)} ${ms(objective.seconds)}${weight}`,
    ),
    h(
      "td",
      null,
      overRatio === undefined ? "–" : h(Chip, { kind: isMissed ? "bad" : "good" }, percent(overRatio, 1)),
    ),
    h("td", { class: "soft small" }, route.why),
  );
}
