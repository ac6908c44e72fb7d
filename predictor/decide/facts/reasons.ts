import type { Application } from "@tradewind/core/contract/application.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Observation } from "./observation.ts";
import { judgedRequests } from "./accounts.ts";
import { sloStanding } from "./verdict.ts";
import type { FlowVerdict, Verdict } from "./verdict.ts";

/** Of the name of a route. */
export const MOST_CHARACTERS = 60;

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

/** How the application stood in one window: its slowest route, and all requests of users. Undefined without any that is held to an objective. */
export function measuredReason(
  verdict: Verdict,
  windowSet: WindowSet,
  application: Application,
): ReasonOf<"measured"> | undefined {
  const standing = sloStanding(verdict);
  const { objective, tailSeconds: latencySeconds } = verdict;
  if (standing === undefined || latencySeconds === undefined) return undefined;
  const { bad, good } = judgedRequests(windowSet, application);
  const windowSeconds = (windowSet.endMs - windowSet.startMs) / 1e3;
  return {
    code: "measured",
    percentile: objective.percentile,
    latencySeconds,
    objectiveSeconds: objective.tailSeconds,
    ...(verdict.flows.length > 1 && { route: standing.route.slice(0, MOST_CHARACTERS) }),
    requestsPerSecond: (good + bad) / windowSeconds,
    overRatio: good + bad > 0 ? Math.min(1, bad / (good + bad)) : 0,
    windowSeconds,
  };
}

/** What of the traffic was not seen. @param missing in words; undefined when nothing */
export const trafficReasons = (missing: string | undefined): readonly ReasonOf<"traffic-missing">[] =>
  missing === undefined ? [] : [{ code: "traffic-missing", missing }];

/** More requests of a route failed than may be late. @param isNamed there are other routes */
export const failureReason = (
  { flow: { errorRatio, flow }, objective: { percentile } }: FlowVerdict,
  isNamed: boolean,
): ReasonOf<"requests-failed"> => ({
  code: "requests-failed",
  errorRatio,
  allowedRatio: 1 - percentile,
  ...(isNamed && { route: flow.slice(0, MOST_CHARACTERS) }),
});

/** The same of the route of which most failed; none where none fails more than may be late. */
export function failureReasons({ flows }: Verdict): readonly ReasonOf<"requests-failed">[] {
  const failing = flows.filter(({ isFailing }) => isFailing);
  if (failing.length === 0) return [];
  const beyond = ({ flow, objective }: FlowVerdict): number => flow.errorRatio / (1 - objective.percentile);
  const worst = failing.reduce((most, each) => (beyond(each) > beyond(most) ? each : most));
  return [failureReason(worst, flows.length > 1)];
}

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
