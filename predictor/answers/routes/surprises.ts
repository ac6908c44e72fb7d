import { percent } from "@tradewind/core/values/amounts.ts";
import type { ListedRoute, RouteSurprise } from "@tradewind/core/contract/route-list.ts";

/** Words in the names of operations that are seldom what users wait for, by what the objective may say of them. */
const LOOKS_LIKE = [
  {
    what: "a health check",
    say: "exclude: true",
    words: [
      "health",
      "healthz",
      "healthcheck",
      "livez",
      "readyz",
      "readiness",
      "liveness",
      "ready",
      "ping",
      "metrics",
    ],
  },
  {
    what: "a stream",
    say: "stream: true",
    words: [
      "events",
      "stream",
      "streaming",
      "sse",
      "ws",
      "websocket",
      "socket",
      "subscribe",
      "watch",
      "longpoll",
    ],
  },
  {
    what: "an export or a job",
    say: "exclude: true",
    words: [
      "export",
      "exports",
      "download",
      "backup",
      "dump",
      "import",
      "report",
      "reports",
      "admin",
      "batch",
      "cron",
    ],
  },
] as const;

/** What an operation looks like by the words in its name: `shop.Feed/WatchAll` has `watch`. */
export function looksLike(route: string): (typeof LOOKS_LIKE)[number] | undefined {
  const words = new Set(
    route
      .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .split(/[^a-z0-9]+/),
  );
  return LOOKS_LIKE.find((each) => each.words.some((word) => words.has(word)));
}

/** A route over its objective that looks like what users do not wait for. */
export function missSurprises(routes: readonly ListedRoute[]): RouteSurprise[] {
  return routes.flatMap(({ counts, objective, overRatio = 0, route }): RouteSurprise[] => {
    if (!counts || objective === undefined || overRatio <= 1 - objective.percentile) return [];
    const alike = looksLike(route);
    if (alike === undefined) return [];
    const message = `${percent(overRatio)} of its requests are over the objective, and by its name it is ${alike.what}: it may cost what no user waits for`;
    return [
      { about: route, message, remedy: `if so: objectives: [{ route: ${quoted(route)}, ${alike.say} }]` },
    ];
  });
}

/** A pattern that has fitted no route. */
export const unmatchedSurprise = (glob: string, routes: readonly ListedRoute[]): RouteSurprise => {
  const named = routes.filter((each) => each.class === "request").slice(0, 3);
  const known =
    named.length === 0
      ? "no route was seen yet"
      : `routes are ${named.map(({ route }) => quoted(route)).join(", ")}`;
  return {
    about: glob,
    message: "this route of objectives has fitted no route since the start: it changes nothing",
    remedy: `write it as 'tradewind routes' lists it, with * for any text; ${known}`.slice(0, 500),
  };
};

/** An entry without requests. */
export const silentSurprise = (entry: string): RouteSurprise => ({
  about: entry,
  message: "no request has come through this entry since the start",
  remedy:
    "write its service.name as its spans have it, or take it out of entries; 'tradewind doctor --listen 60s' shows names",
});

/** As YAML takes it. */
const quoted = (text: string): string => JSON.stringify(text);
