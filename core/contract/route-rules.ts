import type { Application, Objective } from "./application.ts";

/** How the requests of a route count. */
export interface RouteRule {
  /** `exclude`: as load alone; `stream`: by their calls alone. */
  readonly use: "objective" | "exclude" | "stream";
  /** The name or pattern that fits the route; absent where none does. */
  readonly glob?: string;
  readonly objective: Pick<Objective, "milliseconds" | "percentile">;
  /** What a miss costs over one of a route that no glob fits. */
  readonly weight: number;
}

/** Rules for routes by their names; two routes of one rule have the same object. */
export interface RouteRules {
  readonly of: (route: string) => RouteRule;
  readonly rest: RouteRule;
  /** The most exact first. */
  readonly named: readonly (RouteRule & { readonly glob: string })[];
}

/** What an application says of its routes. */
export function routeRules({
  objective,
  objectives,
}: Pick<Application, "objectives"> & Pick<RouteRule, "objective">): RouteRules {
  const { milliseconds, percentile } = objective;
  const rest: RouteRule = { use: "objective", objective: { milliseconds, percentile }, weight: 1 };
  const named = objectives.flatMap((given) => {
    if (given.route === undefined) return [];
    const own = {
      milliseconds: given.milliseconds ?? milliseconds,
      percentile: given.percentile ?? percentile,
    };
    const use = given.exclude
      ? ("exclude" as const)
      : given.stream
        ? ("stream" as const)
        : ("objective" as const);
    return [{ use, glob: given.route, objective: own, weight: given.weight ?? 1 }];
  });
  named.sort((a, b) => byExactness(a.glob, b.glob));
  return { of: (route) => named.find(({ glob }) => fits(glob, route)) ?? rest, rest, named };
}

/** Whether a name is that of a glob, in which `*` stands for any text. */
export function fits(glob: string, name: string): boolean {
  const [begin = "", ...others] = glob.split("*");
  const end = others.pop();
  if (end === undefined) return glob === name;
  if (!name.startsWith(begin)) return false;
  let place = begin.length;
  for (const part of others) {
    const found = name.indexOf(part, place);
    if (found === -1) return false;
    place = found + part.length;
  }
  return name.length - end.length >= place && name.endsWith(end);
}

/** A name without `*` before any other, then the one with more letters, then the one with fewer `*`, then by the alphabet. */
function byExactness(a: string, b: string): number {
  const [starsA, starsB] = [starsIn(a), starsIn(b)];
  if ((starsA === 0) !== (starsB === 0)) return starsA - starsB;
  return b.length - starsB - (a.length - starsA) || starsA - starsB || (a < b ? -1 : 1);
}

const starsIn = (glob: string): number => glob.split("*").length - 1;
