import type { Observation } from "../facts/observation.ts";
import type { ApplicationCost } from "./application-cost.ts";
import type { ServiceToSize } from "./cost-inputs.ts";

/** Replicas that stay asked for though no node has room for them, by service. */
export type Unscheduled = ReadonlyMap<string, { readonly scheduled: number; readonly waiting: number }>;

/**
 * Which of the replicas that wait for room would still be worth their price if they served: those stay asked for, so that
 * whoever adds nodes goes on seeing them.
 * @param whole the cheapest sizes as if all that is asked for served
 */
export function unscheduledIn(observations: readonly Observation[], whole: ApplicationCost): Unscheduled {
  const scheduledOf = new Map(
    observations.flatMap(({ baseReplicas, service, unscheduled }): [string, number][] =>
      unscheduled > 0 ? [[service, Math.max(1, baseReplicas - unscheduled)]] : [],
    ),
  );
  return new Map(
    whole.services.flatMap(({ base, name }, at) => {
      const scheduled = scheduledOf.get(name);
      if (scheduled === undefined) return [];
      const waiting = Math.min(base.replicas, whole.sizeOf(at).replicas) - scheduled;
      return waiting > 0 ? [[name, { scheduled, waiting }] as const] : [];
    }),
  );
}

/** A service as it is while replicas of it wait: the others serve, and more would wait like them. */
export function withoutUnscheduled(service: ServiceToSize, unscheduled: Unscheduled): ServiceToSize {
  const replicas = unscheduled.get(service.name)?.scheduled;
  if (replicas === undefined) return service;
  const { base, ceiling, floor } = service;
  return {
    ...service,
    base: { ...base, replicas },
    floor: { ...floor, replicas },
    ceiling: { ...ceiling, replicas },
  };
}
