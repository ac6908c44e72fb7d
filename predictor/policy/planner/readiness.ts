import { contentHash } from "@tradewind/core/hash.ts";
import type { LatencyProfile } from "../../profile/latency-profile.ts";
import { PriorProfile } from "../../profile/prior-profile.ts";
import type { ServiceState } from "../../profile/service-state.ts";
import type { RecentErrors, ServiceEvidence } from "../evidence.ts";
import type { Models, PolicyChoice } from "../inputs.ts";
import type { DecisionContext, Observation } from "../observe/observation.ts";
import type { Verdict } from "../observe/verdict.ts";
import type { PlannerRung } from "../state.ts";
import { percent } from "../target.ts";

/** A profile that may be planned with. */
export interface UsableProfile {
  readonly profile: LatencyProfile;
  readonly state: ServiceState;
  readonly rung: PlannerRung;
  /** Content of the model, or of the prior. */
  readonly hash: string;
  readonly memoryPeakBytes?: number;
}

/** Which of the planner's rungs has its evidence, and why not more. */
export interface Readiness {
  readonly rung?: PlannerRung;
  readonly reason: string;
  readonly profiles: ReadonlyMap<string, UsableProfile>;
}

export interface Evidence {
  readonly choice: PolicyChoice;
  readonly profiles: readonly ServiceEvidence[];
  readonly models: Models;
  /** Rungs that failed a short while ago. */
  readonly distrusted: ReadonlySet<PlannerRung>;
}

/** Share of the measurable time that profiles must cover when the operator asks for the planner. */
const COVERED_SHARE = 0.5;

/**
 * What may be planned with. `auto` wants a profile with a small error for every service in which a measurable share of the
 * flows' time is spent; `plan` is content with what there is, as long as it covers half of that time.
 */
export function readiness(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  evidence: Evidence,
): Readiness {
  const none = (reason: string): Readiness => ({ reason, profiles: new Map() });
  const { application, settings } = context;
  const { choice } = evidence;
  if (choice !== "auto" && choice !== "plan") return none("");
  if (evidence.distrusted.has("planner-prior")) return none("what was planned did not hold a while ago");
  if (application.budget.pods !== undefined && (application.resize ?? "off") === "off") {
    return none("a budget of pods is shared out by queues");
  }
  const usable = usableProfiles(context, observations, evidence);
  const shares = timeShares(observations, verdict);
  const measurable = largest(shares, settings.planner.measurableShare);
  if (measurable.length === 0)
    return none("no service of the flows has both time spent in it and a workload");
  const missing = measurable.filter(([service]) => usable.profiles.get(service) === undefined);
  const covered = measurable.reduce(
    (sum, [service, share]) => sum + (usable.profiles.has(service) ? share : 0),
    0,
  );
  const total = measurable.reduce((sum, [, share]) => sum + share, 0);
  const isEnough = choice === "plan" ? covered >= COVERED_SHARE * total && covered > 0 : missing.length === 0;
  if (!isEnough) return none(`no plan yet: ${describeMissing(missing, usable.flaws)}`);
  const trained = measurable.filter(([service]) => usable.profiles.get(service)?.rung === "planner");
  const rung = trained.length === measurable.length ? "planner" : "planner-prior";
  const maturity =
    rung === "planner"
      ? "all services that take time have a trained profile"
      : `${trained.length} of the ${measurable.length} services that take time have a trained profile, the others a queueing prior`;
  const gaps = missing.length === 0 ? "" : `; ${describeMissing(missing, usable.flaws)}`;
  return { rung, reason: `${maturity}${gaps}`, profiles: usable.profiles };
}

function describeMissing(
  missing: readonly (readonly [string, number])[],
  flaws: ReadonlyMap<string, string>,
): string {
  const [first] = missing;
  if (first === undefined) return "nothing is missing";
  const others = missing.length > 1 ? `, and ${missing.length - 1} more` : "";
  return `'${first[0].slice(0, 60)}' ${flaws.get(first[0]) ?? "has no latency profile"}${others}`;
}

interface Usable {
  readonly profiles: ReadonlyMap<string, UsableProfile>;
  /** Why a service is not among them. */
  readonly flaws: ReadonlyMap<string, string>;
}

function usableProfiles(
  context: DecisionContext,
  observations: readonly Observation[],
  evidence: Evidence,
): Usable {
  const windowOf = new Map(observations.map(({ service, window }) => [service, window]));
  const profiles = new Map<string, UsableProfile>();
  const flaws = new Map<string, string>();
  for (const each of evidence.profiles) {
    const ownTailSeconds = windowOf.get(each.service)?.ownLatency?.p95Seconds;
    const found = usableOf(each, ownTailSeconds, context, evidence);
    if (typeof found === "string") flaws.set(each.service, found);
    else profiles.set(each.service, found);
  }
  return { profiles, flaws };
}

/** @returns why there is none, in words that follow the service's name */
function usableOf(
  each: ServiceEvidence,
  ownTailSeconds: number | undefined,
  { application, settings: { planner } }: DecisionContext,
  { choice, distrusted, models }: Evidence,
): UsableProfile | string {
  const { prior, trained, memoryPeakBytes } = each;
  const peak = memoryPeakBytes === undefined ? {} : { memoryPeakBytes };
  const error = (errors: RecentErrors | undefined): number | undefined =>
    errors !== undefined && errors.windows >= planner.errorWindows
      ? (errors.excessRatio ?? errors.meanAbsoluteRatio)
      : undefined;
  const harmlessSeconds = (planner.harmlessErrorRatio * application.objective.milliseconds) / 1e3;
  const isBelievable = (off: number, limit: number): boolean =>
    off <= limit || off * (ownTailSeconds ?? Number.POSITIVE_INFINITY) <= harmlessSeconds;
  const profile =
    trained === undefined || distrusted.has("planner") ? undefined : models.profile(trained.hash);
  if (trained !== undefined && profile !== undefined) {
    profile.interval = trained.interval;
    const off = error(trained.errors) ?? trained.trainingRatio;
    if (isBelievable(off, planner.trainedErrorLimit)) {
      return { profile, state: trained.state, rung: "planner", hash: trained.hash, ...peak };
    }
  }
  if (prior === undefined) return "was not yet seen at work for long enough";
  const off = error(prior.errors);
  if (off === undefined && choice === "auto") return `has been watched for too few windows`;
  const restless = planner.persistenceMargin * (prior.errors?.persistenceRatio ?? 0);
  if (off !== undefined && !isBelievable(off, Math.max(planner.priorErrorLimit, restless)))
    return `has a profile that is off by ${percent(off)}`;
  const { state, factors } = prior;
  return {
    profile: new PriorProfile(state, factors),
    state,
    rung: "planner-prior",
    hash: contentHash({ state, factors }),
    ...peak,
  };
}

/** The largest shares that together make up `share` of all, largest first. */
function largest(shares: ReadonlyMap<string, number>, share: number): [string, number][] {
  const sorted = [...shares].filter(([, each]) => each > 0).sort((a, b) => b[1] - a[1]);
  let sum = 0;
  const enough = sorted.findIndex(([, each]) => {
    sum += each;
    return sum >= share;
  });
  return sorted.slice(0, enough < 0 ? sorted.length : enough + 1);
}

/** Share of the own time of all services on the flows, for the services that have a workload. */
function timeShares(observations: readonly Observation[], verdict: Verdict): ReadonlyMap<string, number> {
  const onFlows = new Set(verdict.flows.flatMap(({ flow }) => flow.services));
  const times = observations
    .filter(({ service }) => onFlows.has(service))
    .map(({ service, window, queue }): [string, number] => {
      const requests =
        queue?.ownRequests ?? (window?.requestsPerSecond ?? 0) * (window?.ownLatency?.meanSeconds ?? 0);
      return [service, requests];
    });
  const total = times.reduce((sum, [, requests]) => sum + requests, 0);
  return new Map(total > 0 ? times.map(([service, requests]) => [service, requests / total]) : []);
}
