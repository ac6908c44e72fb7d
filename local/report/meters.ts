import { costPerHour, Prices } from "@tradewind/core/contract/prices.ts";
import { RunReport } from "@tradewind/core/contract/run-report.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";
import type { Phase } from "../load/phases.ts";
import type { Observation } from "./observer.ts";
import { createPhaseMeter } from "./phase-meter.ts";
import type { PhaseMeter } from "./phase-meter.ts";
import { createRecentMeter } from "./recent.ts";
import type { RecentMeter } from "./recent.ts";
import { createTimeline } from "./timeline.ts";
import type { Timeline } from "./timeline.ts";

/** Seconds that the figures on the screen look back. */
const RECENT_SECONDS = 5;

/** Everything that is counted during a run. */
export interface Meters {
  readonly phases: PhaseMeter;
  readonly recent: RecentMeter;
  readonly timeline: Timeline;
  /** Duration of the scaler's calls, s. */
  readonly rpcLatency: LatencyHistogram;
  rpcErrors: number;
  actuations: number;
  /** Replicas started and stopped by the autoscaler. */
  starts: number;
  stops: number;
}

export interface MeterOptions {
  readonly phases: readonly Phase[];
  readonly objectiveSeconds: number;
  /** The phases repeat until the run is stopped. */
  readonly isEndless: boolean;
}

export function createMeters({ isEndless, objectiveSeconds, phases }: MeterOptions): Meters {
  const roundSeconds = phases.at(-1)?.toS ?? 1;
  return {
    phases: createPhaseMeter(phases, objectiveSeconds),
    recent: createRecentMeter(RECENT_SECONDS),
    rpcLatency: new LatencyHistogram(),
    timeline: createTimeline({ roundSeconds, objectiveSeconds, isEndless }),
    rpcErrors: 0,
    actuations: 0,
    starts: 0,
    stops: 0,
  };
}

/** What the report names and does not count. */
export type RunIdentity = Pick<RunReport, "seed" | "policy" | "application" | "objectiveMs" | "durationS">;

export function composeReport(identity: RunIdentity, meters: Meters, seen: Observation): RunReport {
  const { actuations, phases, rpcErrors, rpcLatency, starts, stops, timeline } = meters;
  const { cpuCores, memoryBytes } = phases.given();
  const steps = timeline.read(Infinity);
  const report: RunReport = {
    version: VERSION,
    ...identity,
    spans: seen.spans,
    windows: seen.windowsFormed,
    recommendations: seen.decisions,
    actuations,
    keda: {
      rpcs: rpcLatency.count,
      errors: rpcErrors,
      p99Ms: rpcLatency.quantileSeconds(0.99) * 1e3,
    },
    agent: {
      samples: seen.agentSamples,
      cpuRatio: seen.snapshot?.agent.cpuRatio ?? 0,
      rssBytes: seen.snapshot?.agent.residentBytes ?? 0,
    },
    phases: [...phases.report()],
    totals: {
      secondsOver: timeline.secondsOver,
      costPerHour: costPerHour({ cpuCores, memoryBytes }, Prices.parse({})),
      starts,
      stops,
    },
    timeline: steps,
  };
  return parseWith(RunReport, report, "the report of this run");
}
