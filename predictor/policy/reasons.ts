import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { Observation } from "./observe/observation.ts";

type ReasonOf<Code extends Reason["code"]> = Extract<Reason, { code: Code }>;

/** What happens to the replicas of a service. @param neededReplicas given only where the decision falls short of them */
export function replicasReason(
  { baseReplicas, window }: Observation,
  toReplicas: number,
  neededReplicas?: number,
): ReasonOf<"replicas"> {
  const runningReplicas = window?.replicasWanted;
  const isLate = toReplicas === baseReplicas && runningReplicas !== undefined && runningReplicas > toReplicas;
  return {
    code: "replicas",
    fromReplicas: baseReplicas,
    toReplicas,
    ...(neededReplicas !== undefined && { neededReplicas }),
    ...(isLate && { runningReplicas }),
  };
}

/** What the CPU demand of a service is, as far as it is known. */
export function cpuReason(
  { need, utilisation }: Observation,
  { targetUtilisation }: { readonly targetUtilisation: number },
): ReasonOf<"cpu-demand" | "cpu-unknown"> {
  if (need === undefined || utilisation === undefined) return { code: "cpu-unknown" };
  return { code: "cpu-demand", cpuRatio: utilisation, targetRatio: targetUtilisation };
}

/** What of the traffic was not seen. @param missing in words; undefined when nothing */
export const trafficReasons = (missing: string | undefined): readonly ReasonOf<"traffic-missing">[] =>
  missing === undefined ? [] : [{ code: "traffic-missing", missing }];

/** Why the guard removes nothing of a service: what is missing from its window. Undefined when nothing is. */
export function missingReason({ queue, window }: Observation): ReasonOf<"data-missing"> | undefined {
  const code = "data-missing";
  if (window === undefined) return { code };
  const { missing, ownLatency, replicasReady, requestsPerSecond } = window;
  if (missing !== undefined) return { code, what: "traffic", missing };
  if (replicasReady === undefined) return { code, what: "replicas" };
  if (requestsPerSecond === undefined) return { code, what: "requests" };
  if (queue?.complete === true) return undefined;
  return { code, what: ownLatency === undefined ? "self-time" : "queue" };
}

const MOST_NAMED = 3;

/** The first of the services by name, and how many more there are. */
export function namedServices(
  observations: readonly Pick<Observation, "service">[],
): Pick<ReasonOf<"models-missing">, "services" | "moreServices"> {
  const services = observations.slice(0, MOST_NAMED).map(({ service }) => service);
  const moreServices = observations.length - services.length;
  return { services, ...(moreServices > 0 && { moreServices }) };
}
