import type { ApplicationCost } from "./application-cost.ts";
import { SLACK } from "./cost-inputs.ts";
import type { Size } from "../../facts/size.ts";

/** One step makes a container's CPU this much larger or smaller: advice of any size is off by no more. */
const STEP = 1.1;

/** CPU of each container that may be advised, cores. */
export interface CoresBounds {
  readonly least: number;
  readonly most: number;
}

/**
 * CPU of each container for which a decision would cost least at the replicas that it has, were it possible to move it. Services
 * take one step each in turn while it lowers the cost, so that all of the advice together keeps the objective as long as the
 * decision does. The cost is left as it was.
 * @param bounds of the services to advise, by number
 * @returns cores by number
 */
export function cheapestCores(
  cost: ApplicationCost,
  bounds: ReadonlyMap<number, CoresBounds>,
): ReadonlyMap<number, number> {
  const decided = new Map([...bounds.keys()].map((at) => [at, cost.sizeOf(at)]));
  const walks = new Map([...bounds.keys()].map((at): [number, Walk] => [at, { factor: 1 / STEP, steps: 0 }]));
  while (walks.size > 0) {
    for (const [at, walk] of walks) {
      const between = bounds.get(at);
      const next = between && nextOf(cost, at, walk, between);
      if (next === undefined) {
        walks.delete(at);
        continue;
      }
      cost.set(at, next.size);
      walks.set(at, next.walk);
    }
  }
  const cores = new Map([...bounds.keys()].map((at) => [at, cost.sizeOf(at).cpuCores]));
  for (const [at, size] of decided) cost.set(at, size);
  return cores;
}

interface Walk {
  readonly factor: number;
  readonly steps: number;
}

/** The next size that costs less; undefined: there is none, neither smaller nor, before the first step, larger. */
function nextOf(
  cost: ApplicationCost,
  at: number,
  { factor, steps }: Walk,
  { least, most }: CoresBounds,
): { readonly size: Size; readonly walk: Walk } | undefined {
  const now = cost.sizeOf(at);
  const cpuCores = Math.max(least, Math.min(factor * now.cpuCores, most));
  const size = { ...now, cpuCores };
  const isAway = Math.abs(cpuCores - now.cpuCores) > SLACK;
  if (isAway && (now.cpuCores < least || cost.trial(at, size) < -SLACK)) {
    return { size, walk: { factor, steps: steps + 1 } };
  }
  return factor < 1 && steps === 0 ? nextOf(cost, at, { factor: STEP, steps }, { least, most }) : undefined;
}
