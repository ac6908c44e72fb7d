import type { FlowWindow } from "@tradewind/core/contract/window.ts";
import { flowTailSeconds } from "../queue/objective.ts";
import type { FlowObjective } from "../queue/objective.ts";
import type { PolicySettings } from "./settings.ts";

/** How one flow stands to the objective. */
export interface FlowVerdict {
  readonly flow: FlowWindow;
  readonly tailSeconds: number;
  /** Tail over objective: above 1 the objective is missed. */
  readonly severity: number;
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

/** The flows that users start: those that enter through the entry service. */
export function ownFlows(flows: readonly FlowWindow[], entry: string): readonly FlowWindow[] {
  return flows
    .filter(({ entryService }) => entryService === entry)
    .sort((a, b) => (a.flow < b.flow ? -1 : a.flow > b.flow ? 1 : 0));
}

export function judge(
  flows: readonly FlowWindow[],
  entry: string,
  objective: FlowObjective,
  settings: PolicySettings,
): Verdict {
  const verdicts = ownFlows(flows, entry).map((flow) => {
    const tailSeconds = flowTailSeconds(flow.latency, objective.percentile);
    return {
      flow,
      tailSeconds,
      severity: tailSeconds / objective.tailSeconds,
      telling: flow.latency.count >= settings.minimumCalls,
    };
  });
  const severity = largest(verdicts.filter(({ telling }) => telling).map((verdict) => verdict.severity));
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

function largest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((a, b) => Math.max(a, b));
}
