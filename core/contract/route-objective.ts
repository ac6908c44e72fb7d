import { z } from "zod";

/** Of an objective's percentile. */
export const Percentile = z
  .number("must be a share between 0 and 1: 0.95 is p95")
  .gt(0, "must be above 0: 0.95 is p95")
  .lt(1, "must be below 1: 0.95 is p95");

/** Of an objective's latency. */
export const ObjectiveMilliseconds = z
  .number("must be a number of milliseconds without a unit: 250")
  .positive("must be above 0, in milliseconds: 250");

const MOST_OBJECTIVES = 100;
/** Of a route's name, as of a flow's. */
export const MOST_ROUTE_CHARACTERS = 200;

/** How routes of a name are held: to an objective, to none, or as streams. */
export const RouteObjective = z.strictObject({
  route: z
    .string()
    .min(1)
    .max(MOST_ROUTE_CHARACTERS)
    .optional()
    .describe(
      "Name of the routes as `tradewind routes` lists them; * stands for any text: GET /api/*. The most exact one that fits a route counts. Without it: all other routes.",
    ),
  percentile: Percentile.optional().describe(
    "Percentile of end-to-end latency, 0.95 for p95; without it that of the other routes.",
  ),
  milliseconds: ObjectiveMilliseconds.optional().describe("The latency that the percentile must stay under."),
  weight: z
    .number("must be a number: 2 for misses that count twice")
    .positive("must be above 0; for routes that do not count: exclude: true")
    .max(1_000)
    .optional()
    .describe("What a miss costs over one of other routes, 1 without it."),
  exclude: z
    .literal(true)
    .optional()
    .describe("Health checks, admin pages, exports: no objective; their load on services counts."),
  stream: z
    .literal(true)
    .optional()
    .describe("Requests that stay open, such as server-sent events: their length is no latency."),
});
export type RouteObjective = z.infer<typeof RouteObjective>;

export const RouteObjectives = z
  .array(RouteObjective)
  .max(MOST_OBJECTIVES)
  .default([])
  .describe("Objectives by route, beside or in place of `objective`.");

/** What a single field cannot tell, by its place in the list. */
interface ObjectiveProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What is wrong with objectives, and what to do. @param hasObjective there is an `objective` beside them */
export function objectivesProblems(
  objectives: readonly RouteObjective[],
  hasObjective: boolean,
): ObjectiveProblem[] {
  const problems: ObjectiveProblem[] = [];
  const places = new Map<string, number>();
  for (const [place, each] of objectives.entries()) {
    const path = ["objectives", place];
    const message = problemOf(each);
    if (message !== undefined) problems.push({ path, message });
    const { route } = each;
    if (route === undefined) continue;
    const first = places.get(route);
    if (first !== undefined)
      problems.push({ path, message: `route '${route}' has objectives.${first} already: keep one of them` });
    else places.set(route, place);
  }
  const defaults = objectives.filter(({ route }) => route === undefined).length + (hasObjective ? 1 : 0);
  if (defaults === 0) {
    const message =
      "is missing: write objective: { milliseconds: 250 }, or an item of objectives without route";
    problems.push({ path: ["objective"], message });
  }
  if (defaults > 1) {
    const message = `the objective of all other routes is given ${defaults} times (${hasObjective ? "objective, and " : ""}items without route): keep one`;
    problems.push({ path: ["objectives"], message });
  }
  return problems;
}

function problemOf({
  exclude,
  milliseconds,
  percentile,
  route,
  stream,
  weight,
}: RouteObjective): string | undefined {
  const ways = [milliseconds, exclude, stream].filter((way) => way !== undefined).length;
  if (ways !== 1) return "needs one of milliseconds: 250, exclude: true and stream: true";
  if (route === undefined && (milliseconds === undefined || weight !== undefined))
    return `${milliseconds === undefined ? "exclude and stream are" : "weight is"} of a route: add route: GET /api/*`;
  if (milliseconds === undefined && (percentile ?? weight) !== undefined)
    return "percentile and weight go with milliseconds: leave them out";
  return undefined;
}
