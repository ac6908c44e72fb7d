import type { SharedName } from "@tradewind/core/contract/application-list.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { percentileName } from "@tradewind/core/values/amounts.ts";
import { severityOf } from "@tradewind/core/contract/standing.ts";
import type { Condition, ConditionType } from "@tradewind/kubernetes/crd/status.ts";
import type { ReadPlan } from "../../plans/read-plan.ts";
import { nameProblem } from "./shared-names.ts";

/** What conditions are judged by. */
export interface ConditionFacts {
  readonly list: RecommendationList;
  readonly header: ReadPlan["header"] | undefined;
  /** What is wrong with the newest configuration of the application. */
  readonly problem?: string | undefined;
  /** Services that KEDA is held still for. */
  readonly paused?: readonly string[];
  /** Services whose workloads something else scales too. */
  readonly contested?: readonly string[];
  readonly sharedNames?: readonly SharedName[] | undefined;
}

type Verdict = Pick<Condition, "status" | "reason" | "message">;

const MAX_NAMES = 5;
/** A plan this many windows old is no longer what a predictor at work would say. */
const STALE_WINDOWS = 4;
const DEFAULT_WINDOW_SECONDS = 60;

/** One rule for each condition, in the order in which they are listed. */
export const CONDITIONS: readonly {
  readonly type: ConditionType;
  readonly judge: (judged: ConditionFacts) => Verdict;
}[] = [
  { type: "Ready", judge: ready },
  { type: "Acting", judge: acting },
  { type: "ObjectiveMet", judge: objectiveMet },
  { type: "DataComplete", judge: dataComplete },
  { type: "Constrained", judge: constrained },
];

function ready({ header, list, problem }: ConditionFacts): Verdict {
  const { predictor, recommendations } = list;
  if (problem !== undefined) return no("Invalid", problem);
  if (header === undefined) {
    return no("NoPlan", predictor.problem ?? "the predictor has made no plan yet");
  }
  const ageSeconds = predictor.lastPlanAgeSeconds ?? 0;
  if (ageSeconds > STALE_WINDOWS * (header.windowSeconds ?? DEFAULT_WINDOW_SECONDS)) {
    const why = predictor.problem ?? "the predictor makes none";
    return no("PlanStale", `the newest plan is ${Math.round(ageSeconds)} s old: ${why}`);
  }
  if (recommendations.length === 0) {
    return no("NoServices", "the plan names no service; are there traces, and workloads of their names?");
  }
  const expired = recommendations.filter(({ valid }) => !valid).map(({ service }) => service);
  if (expired.length > 0) return no("DecisionsExpired", `no valid decision for ${named(expired)}`);
  return yes("Planning", `${recommendations.length} services, policy ${header.policy}`);
}

/** The mode, as a condition: its reason names it. */
function acting({ contested = [], header, paused = [] }: ConditionFacts): Verdict {
  if (header === undefined) return unknown("NoPlan", "no plan is handled yet");
  const doesNot = "are not carried out; set mode to act to scale";
  if (header.mode === "observe")
    return no("Observe", `KEDA gets the current replica count: recommendations ${doesNot}`);
  if (header.mode === "recommend") return no("Recommend", `recommendations are shown and ${doesNot}`);
  if (contested.length > 0) {
    const others = `${named(contested)}: another HPA or ScaledObject scales the same workload, leave one of them`;
    return yes("SeveralAutoscalers", `recommendations are carried out, and set back for ${others}`);
  }
  return paused.length > 0
    ? yes(
        "Act",
        `recommendations are carried out, but for ${named(paused)}: KEDA is paused, or its trigger has metricType Value`,
      )
    : yes("Act", "recommendations are carried out");
}

function objectiveMet({ header, list }: ConditionFacts): Verdict {
  const { measuredLatencySeconds: measured, objective } = list;
  if (header === undefined || objective === undefined || measured === undefined) {
    const nothing = "no request was measured in the last window";
    return header?.complete === false
      ? unknown("TrafficNotSeen", `${nothing}, but ${notSeen(header)}`)
      : unknown("NoTraffic", nothing);
  }
  const percentile = percentileName(objective.percentile);
  const limit = `the objective of ${millis(objective.seconds)} ms`;
  if (measured > objective.seconds)
    return no("ObjectiveMissed", `${percentile} is above ${limit}${causeOf(header)}`);
  return (severityOf(list) ?? 0) > 1
    ? no("RequestsFail", `more requests fail than may miss ${limit}${causeOf(header)}`)
    : yes("WithinObjective", `${percentile} is within ${limit}`);
}

/** Names only: numbers that move with every window would be written as often. */
function causeOf({ cause }: ReadPlan["header"]): string {
  return cause === undefined
    ? ""
    : `; most likely cause: '${cause.service}' (${cause.type}), 'tradewind explain' says why`;
}

function dataComplete({ header, list, sharedNames }: ConditionFacts): Verdict {
  const names = nameProblem(sharedNames);
  if (names !== undefined) return no(names.reason, names.message);
  if (header?.complete === false) {
    return no("TrafficNotSeen", `${notSeen(header)}; Tradewind scales nothing down meanwhile`);
  }
  const missing = guardedBy(list, "missing-data");
  if (missing.length > 0)
    return no("MissingData", `latency, load or replicas are missing for ${named(missing)}`);
  return yes("Complete", "all services were measured");
}

/** What of the traffic was not seen: which predictor's part, since when and why. */
function notSeen({ missing = [] }: ReadPlan["header"]): string {
  return missing.length === 0 ? "a part of the traffic was not seen" : missing.join("; ");
}

function constrained({ list }: ConditionFacts): Verdict {
  const limited = list.recommendations
    .filter(
      ({ guard, replicas, wished }) =>
        wished.replicas > replicas && guard.some(({ step }) => step === "bounds"),
    )
    .map(({ service }) => service);
  return limited.length > 0
    ? yes("MaxReplicas", `more replicas are wished than allowed for ${named(limited)}`)
    : no("WithinBounds", "no service is held down by its bounds");
}

function guardedBy({ recommendations }: RecommendationList, step: string): string[] {
  return recommendations
    .filter(({ guard }) => guard.some((each) => each.step === step))
    .map(({ service }) => service);
}

function named(services: readonly string[]): string {
  const rest = services.length - MAX_NAMES;
  return `${services.slice(0, MAX_NAMES).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

export const millis = (seconds: number): number => Math.round(seconds * 1e3);

const yes = (reason: string, message: string): Verdict => verdict("True", reason, message);
const no = (reason: string, message: string): Verdict => verdict("False", reason, message);
const unknown = (reason: string, message: string): Verdict => verdict("Unknown", reason, message);
const verdict = (status: Condition["status"], reason: string, message: string): Verdict => ({
  status,
  reason,
  message: message.slice(0, 1_000),
});
