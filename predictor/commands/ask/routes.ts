import { addJsonFlag, exitCodes, printAnswer } from "@tradewind/core/terminal/answer.ts";
import { formatLatency, percentileName } from "@tradewind/core/values/amounts.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";
import type { Column } from "@tradewind/core/terminal/table.ts";
import { RouteList } from "@tradewind/core/contract/route-list.ts";
import type { ListedRoute } from "@tradewind/core/contract/route-list.ts";
import type { Command } from "commander";
import { addApplicationFlags, askPredictor } from "./ask.ts";
import type { ApplicationFlags } from "./ask.ts";

const EXAMPLES = `
Examples:
  $ tradewind routes
  $ tradewind routes --predictor http://127.0.0.1:9811 --application hotel
  $ tradewind routes --json | jq '.routes[] | select(.counts) | {route, p95Seconds, overRatio}'

How to read it:
  route        class      rate     p50     p95  objective    over  why
  GET /hotels  request  42.0/s   31 ms  190 ms  p95 250 ms  2.0 %  users wait for it: the application's objective
  GET /export  request  0.20/s  4.00 s  9.00 s  –               –  excluded by "GET /export" of objectives: load, and nothing else
  Routes with an objective count in the SLO, in what a miss costs and in every decision. The others load the services, and
  that is all. Classes: request (of users), stream, work (timers, polls), probe, other (begins at a service that is no entry).

To change it, write into the application; * stands for any text, and the most exact route that fits counts:
  objectives:
    - { milliseconds: 250 }                                  # all other routes
    - { route: "GET /api/*", milliseconds: 100, weight: 2 }  # an objective of its own
    - { route: "GET /export", exclude: true }                # exports, admin pages, health checks
    - { route: "GET /events", stream: true }                 # stays open

${exitCodes("shown", "no answer")}`;

interface Flags extends ApplicationFlags {
  readonly json: boolean;
}

/** Adds description, options and action to its command. */
export function configure(command: Command): void {
  const described = command.description(
    "List the routes of the last window: what each is, its rate and latency, its objective, and why it counts or not.",
  );
  addJsonFlag(addApplicationFlags(described), "the answer of /v1/routes")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: Flags) => {
      const list = await askPredictor(flags, { path: "v1/routes", schema: RouteList, absent: "no-routes" });
      printAnswer({ json: list, text: (paint) => inWords(list, paint) }, flags.json);
    });
}

const COLUMNS: readonly Column[] = [
  { title: "route" },
  { title: "class" },
  { title: "rate", align: "right" },
  { title: "p50", align: "right" },
  { title: "p95", align: "right" },
  { title: "objective" },
  { title: "over", align: "right" },
  { title: "why" },
];

/** A table, what is left out, and what is likely to be meant otherwise. */
function inWords(
  { endMs, entries, moreRoutes, objective, routes, surprises }: RouteList,
  paint: Paint,
): string {
  const until = new Date(endMs).toISOString();
  const head = `Window until ${until}; entries: ${entries.join(", ")}; objective: ${heldTo(objective)}.`;
  const table =
    routes.length === 0
      ? "No route was seen: check that spans arrive with 'tradewind doctor --listen 60s'."
      : renderTable(
          COLUMNS,
          routes.map((each) => cellsOf(each, paint)),
          paint,
        );
  const more = moreRoutes === 0 ? [] : [`${moreRoutes} more are left out.`];
  const told = surprises.map(
    ({ about, message, remedy }) => `${paint("yellow", about)}: ${message}\n  → ${remedy}`,
  );
  return [head, table, ...more, ...told].join("\n\n");
}

function cellsOf(route: ListedRoute, paint: Paint): string[] {
  const { objective, overRatio, p50Seconds, p95Seconds, requestsPerSecond: rate, weight = 1, why } = route;
  const isMissed = objective !== undefined && (overRatio ?? 0) > 1 - objective.percentile;
  return [
    route.route,
    route.class,
    `${rate.toFixed(rate < 10 ? 2 : 1)}/s`,
    formatLatency(p50Seconds),
    formatLatency(p95Seconds),
    objective === undefined ? "–" : `${heldTo(objective)}${weight === 1 ? "" : `, weight ${weight}`}`,
    overRatio === undefined ? "–" : paint(isMissed ? "red" : "green", `${(100 * overRatio).toFixed(1)} %`),
    why,
  ];
}

const heldTo = ({ percentile, seconds }: RouteList["objective"]): string =>
  `${percentileName(percentile)} ${formatLatency(seconds)}`;
