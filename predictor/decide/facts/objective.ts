import type { Objective } from "@tradewind/core/contract/application.ts";
import type { FlowWindow, LatencySummary } from "@tradewind/core/contract/window.ts";

/** What the flows of an application are held to, seconds. */
export interface FlowObjective {
  readonly percentile: number;
  readonly tailSeconds: number;
  readonly meanSeconds: number;
}

/**
 * The tail objective, and the mean that goes with it: an exponential distribution that just meets the tail objective has
 * the mean `tail / ln(1/(1 − percentile))`, a third of it at p95.
 */
export function flowObjective(objective: Pick<Objective, "milliseconds" | "percentile">): FlowObjective {
  const tailSeconds = objective.milliseconds / 1e3;
  return {
    percentile: objective.percentile,
    tailSeconds,
    meanSeconds: tailSeconds / -Math.log1p(-objective.percentile),
  };
}

/**
 * Latency at a percentile in (0, 1), from the p50, p95 and p99 that a summary carries: linear in `−ln(1 − percentile)`
 * between them (exact for an exponential distribution), from 0 below p50 and with the last slope above p99.
 */
export function flowTailSeconds(latency: LatencySummary, percentile: number): number {
  const knots = knotsOf(latency);
  const depth = depthOf(percentile);
  for (const [index, knot] of knots.entries()) {
    if (depth === knot.depth) return knot.seconds;
    const next = knots[index + 1];
    if (next === undefined || depth > next.depth) continue;
    return line(knot, next, depth);
  }
  return Math.max(latency.p99Seconds, line(knots[2], knots[3], depth));
}

/** Share of requests that took longer than so many seconds, [0, 1]: the inverse of {@link flowTailSeconds}. */
export function shareOver(latency: LatencySummary, seconds: number): number {
  const knots = knotsOf(latency);
  const above = knots.findIndex((knot) => knot.seconds > seconds);
  const [from, to] =
    above === -1 ? [knots[2], knots[3]] : [knots[above - 1] ?? knots[0], knots[above] ?? knots[3]];
  if (to.seconds <= from.seconds) return 0;
  const depth =
    from.depth + ((to.depth - from.depth) * (seconds - from.seconds)) / (to.seconds - from.seconds);
  return Math.min(1, Math.exp(-depth));
}

/**
 * Share of a flow's requests that took longer than so many seconds or failed, [0, 1]: a request that failed is over the objective
 * however soon. Latencies are those of all requests, so that a failed one is as likely to be slow as any other.
 */
export function shareOverOrFailed(
  {
    errorRatio,
    latency,
    overObjectiveRatio,
  }: Pick<FlowWindow, "errorRatio" | "latency" | "overObjectiveRatio">,
  seconds: number,
): number {
  const over = overObjectiveRatio ?? shareOver(latency, seconds);
  return errorRatio + (1 - errorRatio) * over;
}

interface Knot {
  readonly depth: number;
  readonly seconds: number;
}

/** What a summary says of the distribution, from its beginning. */
const knotsOf = ({
  p50Seconds,
  p95Seconds,
  p99Seconds,
}: LatencySummary): readonly [Knot, Knot, Knot, Knot] => [
  { depth: 0, seconds: 0 },
  { depth: depthOf(0.5), seconds: p50Seconds },
  { depth: depthOf(0.95), seconds: p95Seconds },
  { depth: depthOf(0.99), seconds: p99Seconds },
];

function line(from: Knot, to: Knot, depth: number): number {
  if (depth === to.depth) return to.seconds;
  return from.seconds + ((to.seconds - from.seconds) * (depth - from.depth)) / (to.depth - from.depth);
}

function depthOf(percentile: number): number {
  return -Math.log1p(-percentile);
}
