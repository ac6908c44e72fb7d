import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { KeptPoint } from "@tradewind/core/contract/measured.ts";
import type { ReadyCheck } from "@tradewind/core/contract/ready.ts";
import { standsAgainst } from "@tradewind/core/contract/ready.ts";
import type { Readiness } from "@tradewind/core/contract/ready.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { budgetLeftOf, overLately } from "@tradewind/exporter/decide/course/points.ts";
import { readiness } from "@tradewind/exporter/decide/course/ready.ts";
import type { KnownAccuracy, ReadyFacts } from "@tradewind/exporter/decide/course/ready.ts";
import { judgedRequests } from "@tradewind/predictor/decide/facts/accounts.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { ProfileAccuracy } from "@tradewind/predictor/learn/profile-accuracy.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { startOurs } from "@tradewind/simulator/contenders/ours/ours.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import type { ScaledObject } from "@tradewind/simulator/control/triggers.ts";
import type { Obstacle } from "@tradewind/simulator/contenders/run.ts";
import { Registry } from "prom-client";

/** One plant: what readiness said after the first part, and what act came to in the second. */
export interface ReadyRun {
  readonly plant: string;
  readonly seed: number;
  readonly isSafe: boolean;
  /** Checks that were not met. */
  readonly open: readonly Pick<ReadyCheck, "code" | "text">[];
  /** Share of the requests over their objective in the second part. */
  readonly overWithAct: number;
  readonly holds: boolean;
}

/** The HPA scales and Tradewind looks on; then Tradewind acts, and what comes after its warm-up counts. */
export async function watched(obstacle: Obstacle, seed: number): Promise<ReadyRun> {
  const { plant } = obstacle;
  const { application, seconds, startMs, warmUpSeconds } = plant;
  const askedAtMs = startMs + 1e3 * (warmUpSeconds + (seconds - warmUpSeconds) / 2);
  const points: KeptPoint[] = [];
  const events: AuditEvent[] = [];
  const newest: { inputs?: PolicyInputs; plan?: Plan } = {};
  let answer: Readiness | undefined;
  const ask = (): Readiness => {
    const { inputs, plan } = newest;
    return readiness({
      place: { namespace: application.namespace, application: application.name },
      nowMs: askedAtMs,
      head: plan === undefined ? { policyReasons: [] } : headOf(plan),
      services: servicesOf(plan, inputs?.windowSet, application),
      budget: budgetLeftOf(points, {
        nowMs: askedAtMs,
        percentile: application.objective.percentile,
        periodMs: 86_400_000,
      }),
      latelyOverRatio: overLately(points),
      accuracy: accuracyOf(inputs, application.namespace),
      isComplete: plan?.complete !== false,
      missing: plan?.missing ?? [],
      events,
      bounded: new Set(application.services.map(({ name }) => name)),
      neededSeconds: 300,
    });
  };
  const { requestsOver: overWithAct } = await run({
    obstacle: {
      ...obstacle,
      plant: { ...plant, warmUpSeconds: (askedAtMs - startMs) / 1e3 + warmUpSeconds },
    },
    contender: {
      ...HPA_CPU,
      start: (setting, parameters) => {
        const ours = startOurs(setting, {
          choice: "auto",
          mode: () => (answer === undefined ? "observe" : "act"),
          onInputs: (inputs) => void Object.assign(newest, { inputs }),
          onEvent: (event) => events.push(event),
          rewrite: (plan) => Object.assign(newest, { plan }).plan,
        });
        const hpa = HPA_CPU.start(setting, parameters);
        return {
          ...ours,
          scaledObject: (service) =>
            switched(hpa.scaledObject(service), ours.scaledObject(service), () => answer !== undefined),
          onWindow: async (window) => {
            if (window.nowMs >= askedAtMs) answer ??= ask();
            points.push(pointOf(window.windowSet, application));
            await ours.onWindow?.(window);
          },
        };
      },
    },
    actuators: "replicas",
    seed,
  });
  if (answer === undefined) throw new Error(`${plant.name} ended before readiness was asked for`);
  const { checks, isSafe } = answer;
  return {
    plant: plant.name,
    seed,
    isSafe,
    open: checks.filter(standsAgainst).map(({ code, text }) => ({ code, text })),
    overWithAct,
    holds: overWithAct <= 1 - application.objective.percentile,
  };
}

/** One ScaledObject until it is handed over to another one. */
const switched = (
  before: ScaledObject | undefined,
  after: ScaledObject | undefined,
  isHandedOver: () => boolean,
): ScaledObject | undefined =>
  before &&
  after && {
    ...after,
    get behavior() {
      return (isHandedOver() ? after : before).behavior;
    },
    get triggers() {
      return (isHandedOver() ? after : before).triggers;
    },
  };

const headOf = ({
  measuredLatencySeconds,
  objective,
  policy,
  policyReasons,
  unmapped = [],
}: Plan): ReadyFacts["head"] => ({
  mode: "observe",
  objective,
  policy,
  policyReasons,
  ...(measuredLatencySeconds !== undefined && { measuredLatencySeconds }),
  ...(unmapped.length > 0 && { unmapped: unmapped.map(String) }),
});

function pointOf(set: WindowSet, application: Obstacle["plant"]["application"]): KeptPoint {
  const { bad, good } = judgedRequests(set, application);
  const requests = good + bad;
  return {
    atMs: set.endMs,
    requestsPerSecond: (1e3 * requests) / (set.endMs - set.startMs),
    overRatio: requests > 0 ? Math.min(1, bad / requests) : 0,
  };
}

/** As a scaler lists what the plan recommends. */
function servicesOf(
  plan: Plan | undefined,
  set: WindowSet | undefined,
  application: Obstacle["plant"]["application"],
): ServedRecommendation[] {
  const readyOf = new Map(set?.windows.map(({ replicasReady, service }) => [service, replicasReady]));
  const specOf = serviceSpecs(application);
  return (plan?.wishes ?? []).map(({ allocation: { replicas }, latencyAfterSeconds, service }) => {
    const replicasReady = readyOf.get(service);
    const { maxReplicas } = specOf(service);
    return { service, replicas, maxReplicas, replicasReady, latencyAfterSeconds } as ServedRecommendation;
  });
}

function accuracyOf(inputs: PolicyInputs | undefined, namespace: string): KnownAccuracy {
  const accuracy = new ProfileAccuracy(new Registry(), namespace);
  accuracy.adopt(inputs?.state.cost?.services ?? []);
  return { services: accuracy.list(), routes: [] };
}
