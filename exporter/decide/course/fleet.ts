import type { FleetRow } from "@tradewind/core/contract/fleet.ts";
import { worstFirst } from "@tradewind/core/contract/fleet.ts";
import type { OverrideInForce } from "@tradewind/core/contract/override.ts";
import { overrideText } from "@tradewind/core/contract/override.ts";
import type {
  RecommendationList,
  ServedApplication,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import { lastChange } from "@tradewind/core/contract/sentences.ts";
import { severityOf } from "@tradewind/core/contract/standing.ts";
import type { Courses } from "./courses.ts";
import { budgetLeftOf, sparkOf } from "./points.ts";

/** Of the overrides that a row names. */
const MOST_OVERRIDES = 20;

/** What a row is made of besides the list. */
export interface FleetSources {
  readonly courses: Courses;
  readonly nowMs: number;
  /** Time over which the error budget of an application is counted. ms */
  readonly periodMs: (namespace: string, name: string) => number;
}

/** One row for each application, worst first. */
export function fleetRows(list: RecommendationList, sources: FleetSources): FleetRow[] {
  const services = Map.groupBy(
    list.recommendations,
    ({ application, namespace }) => `${namespace}/${application}`,
  );
  return applicationsOf(list)
    .map((each) => rowOf(each, services.get(`${each.namespace}/${each.name}`) ?? [], sources))
    .toSorted(worstFirst);
}

export type Head = Pick<
  ServedApplication,
  | "failedRatio"
  | "measuredLatencySeconds"
  | "mode"
  | "name"
  | "namespace"
  | "objective"
  | "policy"
  | "problem"
  | "standing"
  | "unmapped"
>;

/** Each application's own part of the list. */
export function applicationsOf(list: RecommendationList): readonly Head[] {
  if (list.applications !== undefined) return list.applications;
  const { application: name, namespace, predictor, ...head } = list;
  if (name === undefined || namespace === undefined) return [];
  const { policy, problem } = predictor;
  return [{ ...head, name, namespace, ...(problem !== undefined && { problem }), ...(policy && { policy }) }];
}

function rowOf(
  { name, namespace, ...head }: Head,
  services: readonly ServedRecommendation[],
  { courses, nowMs, periodMs }: FleetSources,
): FleetRow {
  const place = { namespace, application: name };
  const { mode, objective, problem, standing } = head;
  const points = courses.points(place);
  const { costPerHour, recommendedCostPerHour } = points.at(-1) ?? {};
  const sloRatio = severityOf(head);
  const ready = services.flatMap(({ replicasReady }) => replicasReady ?? []);
  const overridesInForce = services.flatMap(({ override }) => override ?? []);
  const budget =
    objective &&
    budgetLeftOf(points, {
      nowMs,
      percentile: objective.percentile,
      periodMs: periodMs(namespace, name),
    });
  const changed = newestChange(services);
  return {
    namespace,
    name,
    ...(mode && { mode }),
    ...(problem !== undefined && { problem }),
    ...(objective && { objective }),
    ...(sloRatio !== undefined && { sloRatio }),
    ...(standing !== undefined && { standing }),
    course: sparkOf(points, nowMs),
    ...budget,
    services: services.length,
    ...(ready.length > 0 && { replicasReady: sum(ready) }),
    replicas: sum(services.map(({ replicas }) => replicas)),
    ...(costPerHour !== undefined && { costPerHour }),
    ...(recommendedCostPerHour !== undefined && { recommendedCostPerHour }),
    heldRatio: services.length === 0 ? 0 : overridesInForce.length / services.length,
    overrides: [...new Set(overridesInForce.map(withoutReplicas))].slice(0, MOST_OVERRIDES),
    ...(changed && { lastChange: changed }),
  };
}

/** An override of several services, said once. */
const withoutReplicas = ({ by, kind, reason, untilMs }: OverrideInForce): string =>
  overrideText({ by, kind, reason, untilMs });

function newestChange(services: readonly ServedRecommendation[]): FleetRow["lastChange"] {
  const [newest] = services
    .flatMap(({ service, setBy }) => {
      const change = lastChange(setBy);
      return change === undefined ? [] : [{ service, change }];
    })
    .toSorted((a, b) => b.change.decidedAtMs - a.change.decidedAtMs);
  if (newest === undefined) return undefined;
  const { change, service } = newest;
  return { atMs: change.decidedAtMs, service, what: change.what.slice(0, 500), reason: change.reason };
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
