import type { Application } from "@tradewind/core/contract/application.ts";
import type { FlowWindow, LatencySummary } from "@tradewind/core/contract/window.ts";
import { mergeLatency } from "../../window/merge-latency.ts";
import { flowObjective, flowTailSeconds } from "./objective.ts";
import type { FlowObjective } from "./objective.ts";
import type { PolicySettings } from "./settings.ts";
import type { FlowMemory } from "./state.ts";
import { userFlows } from "./user-flows.ts";
import type { HeldFlow } from "./user-flows.ts";

/** How one flow stands to its objective. */
export interface FlowVerdict extends Pick<HeldFlow, "objective" | "weight"> {
  /** As measured; its latency and failures are those of as many windows as its tail needs. */
  readonly flow: FlowWindow;
  /** Calls of this window alone. */
  readonly calls: number;
  readonly tailSeconds: number;
  /** Tail over objective, or failed requests over those that may be late: above 1 the objective is missed. */
  readonly severity: number;
  /** More requests failed than may be late, of enough calls. The latency of the others says nothing about these. */
  readonly isFailing: boolean;
  /** Enough calls to tell a miss from chance. */
  readonly telling: boolean;
}

/** How the application stands to its objectives over one window. */
export interface Verdict {
  /** Those that are held to an objective. */
  readonly flows: readonly FlowVerdict[];
  /** Those that are not: their requests are load and nothing else. */
  readonly others: readonly FlowWindow[];
  /** That which stands worst; without any flow that of routes which no other names. */
  readonly objective: FlowObjective;
  /** Worst flow with enough calls to tell; absent when no flow has. */
  readonly severity?: number;
  /** Worst flow whatever its calls; absent without any flow. */
  readonly worstSeverity?: number;
  /** Measured percentile of the slowest flow that is held to {@link objective}, seconds. */
  readonly tailSeconds?: number;
  /** Worst share of failed requests. */
  readonly errorRatio: number;
  /** Requests per second that enter the application, those of {@link others} among them. */
  readonly requestsPerSecond: number;
}

/** What the calls of one window took, and which share of them failed; absent in records of releases that did not keep it. */
type Outcome = LatencySummary & { readonly errorRatio?: number | undefined };

/**
 * Latency and failures over this window and as many of those before as it takes to have enough calls. The high percentiles of a handful
 * of calls are the slowest of them, and those of several handfuls together a mean of the slowest of each: more than
 * exponential times of their mean would have is chance rather than their tail.
 */
function pooledOutcome(
  { errorRatio, latency: now }: Pick<FlowWindow, "errorRatio" | "latency">,
  earlier: readonly Outcome[],
  minimumCalls: number,
): Pick<FlowWindow, "errorRatio" | "latency"> {
  if (now.count >= minimumCalls) return { errorRatio, latency: now };
  let count = now.count;
  const pool: Outcome[] = [{ ...now, errorRatio }];
  for (const latency of earlier) {
    if (count >= minimumCalls) break;
    pool.push(latency);
    count += latency.count;
  }
  const pooled = mergeLatency(pool) ?? now;
  const judged = pool.filter((each) => each.errorRatio !== undefined);
  const failed = judged.reduce((sum, each) => sum + each.count * (each.errorRatio ?? 0), 0);
  return {
    errorRatio:
      failed /
      Math.max(
        1,
        judged.reduce((sum, each) => sum + each.count, 0),
      ),
    latency: {
      ...pooled,
      p95Seconds: Math.min(pooled.p95Seconds, exponentialTail(pooled, 0.95)),
      p99Seconds: Math.min(pooled.p99Seconds, exponentialTail(pooled, 0.99)),
    },
  };
}

function exponentialTail({ meanSeconds }: LatencySummary, percentile: number): number {
  return -meanSeconds * Math.log1p(-percentile);
}

/** Calls all within the objective from which on earlier windows alone do not make a miss. */
const CALLS_WITHIN = 5;

/** What was slow was so in earlier windows: the calls of this one are within the objective, nearly all. */
function isMissOver({ count, p99Seconds }: LatencySummary, { tailSeconds }: FlowObjective): boolean {
  return count >= CALLS_WITHIN && p99Seconds <= tailSeconds;
}

/** @param earlier latencies of flows in the windows before, see {@link FlowMemory} */
export function judge(
  flows: readonly FlowWindow[],
  application: Application,
  settings: PolicySettings,
  earlier: readonly FlowMemory[] = [],
): Verdict {
  const before = new Map(earlier.map(({ flow, latencies }) => [flow, latencies]));
  const { held, others } = userFlows(flows, application);
  const verdicts = held.map((each) => verdictOf(each, before.get(each.flow.flow) ?? [], settings));
  const untold = held.filter((_, at) => verdicts[at]?.telling === false);
  const ofRest = [...Map.groupBy(untold, ({ objective }) => objective)].flatMap(
    ([objective, rest]) => severityOfRest(rest, objective, settings) ?? [],
  );
  const telling = verdicts.filter((verdict) => verdict.telling).map((verdict) => verdict.severity);
  const severity = largest([...telling, ...ofRest]);
  const worstSeverity = largest(verdicts.map((verdict) => verdict.severity));
  const objective = worstObjective(verdicts) ?? flowObjective(application.objective);
  const tailSeconds = largest(heldTo(verdicts, objective).map((verdict) => verdict.tailSeconds));
  return {
    flows: verdicts,
    others,
    objective,
    errorRatio: largest(verdicts.map(({ flow }) => flow.errorRatio)) ?? 0,
    requestsPerSecond: [...verdicts.map(({ flow }) => flow), ...others].reduce(
      (sum, flow) => sum + flow.requestsPerSecond,
      0,
    ),
    ...(severity !== undefined && { severity }),
    ...(worstSeverity !== undefined && { worstSeverity }),
    ...(tailSeconds !== undefined && { tailSeconds }),
  };
}

function verdictOf(
  { flow: measured, objective, weight }: HeldFlow,
  earlier: readonly Outcome[],
  settings: PolicySettings,
): FlowVerdict {
  const pooled = pooledOutcome(measured, earlier, settings.minimumCalls);
  const { errorRatio, latency } = pooled;
  const telling = latency.count >= settings.minimumCalls;
  const tailSeconds = flowTailSeconds(latency, objective.percentile);
  const ratio = tailSeconds / objective.tailSeconds;
  const isOver = isMissOver(measured.latency, objective);
  // A request that failed is over the objective however soon: callers that gave up leave short spans. Of too few calls a failure may be chance.
  const failed = telling ? errorRatio / (1 - objective.percentile) : 0;
  return {
    flow: { ...measured, ...pooled },
    objective,
    weight,
    calls: measured.latency.count,
    tailSeconds,
    severity: Math.max(isOver ? Math.min(1, ratio) : ratio, failed > 1 ? failed : 0),
    isFailing: failed > 1,
    telling,
  };
}

/** The objective of the flow that is furthest over its own; undefined without any flow. */
function worstObjective(flows: readonly FlowVerdict[]): FlowObjective | undefined {
  const harm = ({ flow, isFailing, objective, tailSeconds }: FlowVerdict): number =>
    Math.max(
      tailSeconds / objective.tailSeconds,
      isFailing ? flow.errorRatio / (1 - objective.percentile) : 0,
    );
  const [first, ...others] = flows;
  return first && others.reduce((worst, each) => (harm(each) > harm(worst) ? each : worst), first).objective;
}

const heldTo = (flows: readonly FlowVerdict[], objective: FlowObjective): readonly FlowVerdict[] =>
  flows.filter((each) => each.objective === objective);

/**
 * Routes with too few calls to tell anything are judged together, by the calls of this window: an identifier in each name makes many routes of
 * one. Undefined where they have too few calls together.
 */
function severityOfRest(
  rest: readonly HeldFlow[],
  { percentile, tailSeconds }: FlowObjective,
  { minimumCalls }: Pick<PolicySettings, "minimumCalls">,
): number | undefined {
  const [first, ...furtherOutcomes] = rest.map(({ flow }): Outcome => ({
    ...flow.latency,
    errorRatio: flow.errorRatio,
  }));
  if (first === undefined) return undefined;
  const given = { latency: first, errorRatio: first.errorRatio ?? 0 };
  const { errorRatio, latency } = pooledOutcome(given, furtherOutcomes, Number.POSITIVE_INFINITY);
  if (latency.count < minimumCalls) return undefined;
  const failed = errorRatio / (1 - percentile);
  return Math.max(flowTailSeconds(latency, percentile) / tailSeconds, failed > 1 ? failed : 0);
}

/** Share of the requests that failed, of the flow with most that is held to the verdict's objective, where that are more than may be late. */
export function failingRatio({ flows, objective }: Pick<Verdict, "flows" | "objective">): number | undefined {
  const failing = heldTo(flows, objective).filter(({ isFailing }) => isFailing);
  return largest(failing.map(({ flow }) => flow.errorRatio));
}

/** How the application stands to its objective for users, whoever decides and on how many calls. */
export interface SloStanding {
  /** Latency of the slowest flow over the objective, or failed requests over those that may be late; above 1 it is missed. */
  readonly ratio: number;
  /** Share of the requests that failed, of the flow with most, where that are more than may be late. */
  readonly failedRatio?: number;
  /** The slowest flow. */
  readonly route: string;
}

/** Undefined without any flow. */
export function sloStanding(
  verdict: Pick<Verdict, "flows" | "objective" | "tailSeconds">,
): SloStanding | undefined {
  const { flows, objective, tailSeconds } = verdict;
  const slowest = heldTo(flows, objective).find((each) => each.tailSeconds === tailSeconds);
  if (tailSeconds === undefined || slowest === undefined) return undefined;
  const route = slowest.flow.flow;
  const slow = tailSeconds / objective.tailSeconds;
  const failedRatio = failingRatio(verdict);
  if (failedRatio === undefined) return { ratio: slow, route };
  return { ratio: Math.max(slow, failedRatio / (1 - objective.percentile)), failedRatio, route };
}

/** Tail over objective of the worst flow with enough calls to tell, or of the worst where none has. */
export function tellingSeverity({ severity, worstSeverity }: Verdict): number | undefined {
  return severity ?? worstSeverity;
}

function largest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((a, b) => Math.max(a, b));
}
