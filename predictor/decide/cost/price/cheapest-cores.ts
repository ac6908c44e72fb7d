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
  const services = [...bounds.keys()];
  const sizesBefore = new Map(services.map((service) => [service, cost.sizeOf(service)]));
  const walks = new Map(services.map((service): [number, Walk] => [service, { factor: 1 / STEP, steps: 0 }]));
  while (walks.size > 0) {
    for (const [service, walk] of walks) {
      const serviceBounds = bounds.get(service);
      const step = serviceBounds && nextOf(cost, service, walk, serviceBounds);
      if (step === undefined) {
        walks.delete(service);
        continue;
      }
      cost.set(service, step.size);
      walks.set(service, step.walk);
    }
  }
  const cores = new Map(services.map((service) => [service, cost.sizeOf(service).cpuCores]));
  for (const [service, size] of sizesBefore) cost.set(service, size);
  return cores;
}

interface Walk {
  readonly factor: number;
  readonly steps: number;
}

/** The next size that costs less; undefined: there is none, neither smaller nor, before the first step, larger. */
function nextOf(
  cost: ApplicationCost,
  service: number,
  { factor, steps }: Walk,
  bounds: CoresBounds,
): { readonly size: Size; readonly walk: Walk } | undefined {
  const current = cost.sizeOf(service);
  const cpuCores = Math.max(bounds.least, Math.min(factor * current.cpuCores, bounds.most));
  const size = { ...current, cpuCores };
  const isStep = Math.abs(cpuCores - current.cpuCores) > SLACK;
  if (isStep && (current.cpuCores < bounds.least || cost.trial(service, size) < -SLACK))
    return { size, walk: { factor, steps: steps + 1 } };
  return factor < 1 && steps === 0 ? nextOf(cost, service, { factor: STEP, steps }, bounds) : undefined;
}
