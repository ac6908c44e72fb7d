import type { ApplicationModel, CallModel, StepModel } from "./application-model.ts";
import { meanOf } from "./distribution.ts";
import type { Count } from "./distribution.ts";

/** What one average request to an application asks of each service. */
export interface Demand {
  /** Requests that reach the service. */
  readonly visits: number;
  /** CPU time of its main containers, core seconds. */
  readonly coreSeconds: number;
}

/** Demand by service, over the routes by their shares. Retries, refusals and optional calls that fail are not in it. */
export function demandPerRequest(model: ApplicationModel): ReadonlyMap<string, Demand> {
  const steps = new Map(
    model.services.flatMap(({ name, operations }) =>
      Object.entries(operations).map(([operation, each]) => [`${name}\n${operation}`, each] as const),
    ),
  );
  const demands = new Map<string, Demand>(
    model.services.map(({ name }) => [name, { visits: 0, coreSeconds: 0 }]),
  );
  const visit = (service: string, operation: string, times: number): void => {
    const work = steps.get(`${service}\n${operation}`);
    if (work === undefined) throw new RangeError(`service '${service}' has no operation '${operation}'`);
    const { coreSeconds, visits } = demands.get(service) ?? { visits: 0, coreSeconds: 0 };
    demands.set(service, {
      visits: visits + times,
      coreSeconds: coreSeconds + times * work.reduce((sum, step) => sum + cpuSeconds(step), 0),
    });
    for (const call of work.flatMap((step) => callsOf(step))) {
      visit(call.service, call.operation, times * meanCount(call.count));
    }
  };
  for (const { operation, service, share } of model.routes) visit(service, operation, share);
  return demands;
}

/** Pods of each service that carry a rate at the given utilisation of their CPU limits (of a request without one). */
export function replicasFor(
  model: ApplicationModel,
  requestsPerSecond: number,
  utilisation: number,
): Readonly<Record<string, number>> {
  const demands = demandPerRequest(model);
  return Object.fromEntries(
    model.services.map(({ container, name }) => {
      const cores = requestsPerSecond * (demands.get(name)?.coreSeconds ?? 0);
      const each = container.cpuLimitCores ?? container.cpuRequestCores;
      return [name, Math.max(1, Math.ceil(cores / (utilisation * each)))];
    }),
  );
}

const cpuSeconds = (step: StepModel): number => (step.kind === "cpu" ? meanOf(step.time) / 1e3 : 0);

function callsOf(step: StepModel): readonly CallModel[] {
  if (step.kind === "call") return step.calls;
  return step.kind === "send" ? [step.call] : [];
}

function meanCount(count: Count | undefined): number {
  if (count === undefined) return 1;
  if (count.kind === "fixed") return count.count;
  return count.kind === "chance" ? count.chance : (count.low + count.high) / 2;
}
