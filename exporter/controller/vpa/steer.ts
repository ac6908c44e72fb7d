import type { ContainerSize, SizedResource } from "../sizing/size-history.ts";

/** A target is moved only when it is off by more than this: smaller moves are not worth a change of running pods. */
const DEAD_BAND = 0.1;
/** VPA's updater acts on pods outside of the bounds: half the dead band, so that every move of the target is acted on. */
const NARROW = 0.05;
/** Room beyond what runs while nothing shall happen. */
const WIDE = 0.1;

/** What a VPA is told about one resource of one container. */
export interface Steering {
  readonly target: number;
  readonly lowerBound: number;
  readonly upperBound: number;
}

/**
 * The target and the bounds around it. With `act` the bounds are narrow: pods that request something else are changed by
 * the updater within a minute or so. Without it they are wide enough for everything that runs, and only new pods get the
 * target.
 * @param previous the target in the status now
 * @param running requests of running pods
 */
export function steer(
  wished: number,
  previous: number | undefined,
  running: readonly number[],
  act: boolean,
): Steering {
  const target =
    previous !== undefined && Math.abs(wished - previous) <= DEAD_BAND * previous ? previous : wished;
  if (act) return { target, lowerBound: target * (1 - NARROW), upperBound: target * (1 + NARROW) };
  return {
    target,
    lowerBound: Math.min(target, ...running) * (1 - WIDE),
    upperBound: Math.max(target, ...running) * (1 + WIDE),
  };
}

/** Brings all three inside what the VPA allows. */
export function capped(
  steering: Steering,
  resource: SizedResource,
  minAllowed: ContainerSize,
  maxAllowed: ContainerSize,
): Steering {
  const least = minAllowed[resource] ?? 0;
  const most = Math.max(least, maxAllowed[resource] ?? Number.POSITIVE_INFINITY);
  const clamp = (value: number): number => Math.max(least, Math.min(value, most));
  return {
    target: clamp(steering.target),
    lowerBound: clamp(steering.lowerBound),
    upperBound: clamp(steering.upperBound),
  };
}
