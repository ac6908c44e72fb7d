import type { FlowWindow, LatencySummary } from "@tradewind/core/contract/window.ts";
import { flowTailSeconds } from "./objective.ts";
import type { FlowObjective } from "./objective.ts";
import { mergeLatency } from "../../window/merge-latency.ts";
import type { PolicySettings } from "./settings.ts";
import type { FlowMemory } from "./state.ts";

/** How one flow stands to the objective. */
export interface FlowVerdict {
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

/** How the application stands to its objective over one window. */
export interface Verdict {
  readonly flows: readonly FlowVerdict[];
  /** Worst flow with enough calls to tell; absent when no flow has. */
  readonly severity?: number;
  /** Worst flow whatever its calls; absent without any flow. */
  readonly worstSeverity?: number;
  /** Measured percentile of the worst flow, seconds. */
  readonly tailSeconds?: number;
  /** Worst share of failed requests. */
  readonly errorRatio: number;
  /** Requests per second that enter the application. */
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

/**
 * Services that requests of a flow wait for, in their order. A consumer of a queue takes part in the traces too, but nobody waits for it.
 * Where calls are not known all that take part count.
 */
function awaitedServices({ calls, entryService, services }: FlowWindow): string[] {
  if (calls === undefined) return services;
  const callsOf = Map.groupBy(calls, ({ caller }) => caller);
  const reached = new Set([entryService]);
  for (const service of reached) for (const { callee } of callsOf.get(service) ?? []) reached.add(callee);
  return services.filter((service) => reached.has(service));
}

/** The flows that users start: those that enter through the entry service, each with the services that its requests wait for. */
export function ownFlows(flows: readonly FlowWindow[], entry: string): readonly FlowWindow[] {
  return flows
    .filter(({ entryService }) => entryService === entry)
    .sort((a, b) => (a.flow < b.flow ? -1 : a.flow > b.flow ? 1 : 0))
    .map((flow) => Object.assign({}, flow, { services: awaitedServices(flow) }));
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
  entry: string,
  objective: FlowObjective,
  settings: PolicySettings,
  earlier: readonly FlowMemory[] = [],
): Verdict {
  const before = new Map(earlier.map(({ flow, latencies }) => [flow, latencies]));
  const entryFlows = ownFlows(flows, entry);
  const verdicts = entryFlows.map((measured) => {
    const pooled = pooledOutcome(measured, before.get(measured.flow) ?? [], settings.minimumCalls);
    const { errorRatio, latency } = pooled;
    const telling = latency.count >= settings.minimumCalls;
    const tailSeconds = flowTailSeconds(latency, objective.percentile);
    const ratio = tailSeconds / objective.tailSeconds;
    const isOver = isMissOver(measured.latency, objective);
    // A request that failed is over the objective however soon: callers that gave up leave short spans. Of too few calls a failure may be chance.
    const failed = telling ? errorRatio / (1 - objective.percentile) : 0;
    return {
      flow: { ...measured, ...pooled },
      calls: measured.latency.count,
      tailSeconds,
      severity: Math.max(isOver ? Math.min(1, ratio) : ratio, failed > 1 ? failed : 0),
      isFailing: failed > 1,
      telling,
    };
  });
  const ofAll = severityOfRest(
    entryFlows.filter((_, at) => verdicts[at]?.telling === false),
    objective,
    settings,
  );
  const telling = verdicts.filter((verdict) => verdict.telling).map((verdict) => verdict.severity);
  const severity = largest(ofAll === undefined ? telling : [...telling, ofAll]);
  const worstSeverity = largest(verdicts.map((verdict) => verdict.severity));
  const tailSeconds = largest(verdicts.map((verdict) => verdict.tailSeconds));
  return {
    flows: verdicts,
    errorRatio: largest(verdicts.map(({ flow }) => flow.errorRatio)) ?? 0,
    requestsPerSecond: verdicts.reduce((sum, { flow }) => sum + flow.requestsPerSecond, 0),
    ...(severity !== undefined && { severity }),
    ...(worstSeverity !== undefined && { worstSeverity }),
    ...(tailSeconds !== undefined && { tailSeconds }),
  };
}

/**
 * Routes with too few calls to tell anything are judged together, by the calls of this window: an identifier in each name makes many routes of
 * one. Undefined where they have too few calls together.
 */
function severityOfRest(
  rest: readonly FlowWindow[],
  { percentile, tailSeconds }: FlowObjective,
  { minimumCalls }: Pick<PolicySettings, "minimumCalls">,
): number | undefined {
  const [first, ...others] = rest.map((flow): Outcome => ({ ...flow.latency, errorRatio: flow.errorRatio }));
  if (first === undefined) return undefined;
  const given = { latency: first, errorRatio: first.errorRatio ?? 0 };
  const { errorRatio, latency } = pooledOutcome(given, others, Number.POSITIVE_INFINITY);
  if (latency.count < minimumCalls) return undefined;
  const failed = errorRatio / (1 - percentile);
  return Math.max(flowTailSeconds(latency, percentile) / tailSeconds, failed > 1 ? failed : 0);
}

/** Share of the requests that failed, of the flow with most, where that are more than may be late. */
export function failingRatio({ flows }: Pick<Verdict, "flows">): number | undefined {
  return largest(flows.filter(({ isFailing }) => isFailing).map(({ flow }) => flow.errorRatio));
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
  { flows, tailSeconds }: Pick<Verdict, "flows" | "tailSeconds">,
  objective: Pick<FlowObjective, "percentile" | "tailSeconds">,
): SloStanding | undefined {
  const slowest = flows.find((each) => each.tailSeconds === tailSeconds);
  if (tailSeconds === undefined || slowest === undefined) return undefined;
  const route = slowest.flow.flow;
  const slow = tailSeconds / objective.tailSeconds;
  const failedRatio = failingRatio({ flows });
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
