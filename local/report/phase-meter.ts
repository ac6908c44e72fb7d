import type { PhaseReport } from "@tradewind/core/contract/run-report.ts";
import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";
import type { FailureKind, Outcome } from "../load/generator.ts";
import { phaseAt } from "../load/phases.ts";
import type { Phase, PhaseName } from "../load/phases.ts";

/** State of the application at one moment. */
export interface FleetSample {
  /** Seconds since the start of the load. */
  readonly atS: number;
  /** Ready replicas of all services. */
  readonly replicas: number;
  /** CPU time of all replicas so far, s. */
  readonly cpuSeconds: number;
  /** CPU limits of the ready replicas, summed, cores. */
  readonly allocatedCpuCores: number;
  /** Memory limits of the ready replicas, summed. */
  readonly allocatedMemoryBytes: number;
}

/** A part of a phase that is shorter than this is a rounding error. */
const SHORTEST_SECONDS = 1e-6;

/** Collects the figures of each phase; a run that repeats its phases adds to the same ones. */
export interface PhaseMeter {
  record(outcome: Outcome): void;
  /** To be called about once a second. */
  sample(sample: FleetSample): void;
  report(): readonly PhaseReport[];
  /** Requests so far. */
  counts(): RequestCounts;
  /** Mean over time of what the ready replicas were allowed to use, all phases. */
  given(): { readonly cpuCores: number; readonly memoryBytes: number };
}

export interface RequestCounts {
  readonly requests: number;
  /** Over the objective; failed ones are among them. */
  readonly over: number;
  readonly failed: number;
}

interface Tally {
  readonly latency: LatencyHistogram;
  requests: number;
  failed: number;
  readonly failures: Partial<Record<FailureKind, number>>;
  violations: number;
  seconds: number;
  replicaSeconds: number;
  cpuSeconds: number;
  allocatedCpuCoreSeconds: number;
  allocatedMemoryByteSeconds: number;
}

export function createPhaseMeter(phases: readonly Phase[], objectiveSeconds: number): PhaseMeter {
  const newTally = (): Tally => ({
    latency: new LatencyHistogram(),
    requests: 0,
    failed: 0,
    failures: {},
    violations: 0,
    seconds: 0,
    replicaSeconds: 0,
    cpuSeconds: 0,
    allocatedCpuCoreSeconds: 0,
    allocatedMemoryByteSeconds: 0,
  });
  const tallies = new Map<PhaseName, Tally>(phases.map(({ name }) => [name, newTally()]));
  const durationS = phases.at(-1)?.toS ?? 0;
  let last: FleetSample | undefined;

  const sum = (of: (tally: Tally) => number): number =>
    [...tallies.values()].reduce((total, tally) => total + of(tally), 0);

  return {
    counts: () => ({
      requests: sum(({ requests }) => requests),
      over: sum(({ violations }) => violations),
      failed: sum(({ failed }) => failed),
    }),
    given() {
      const seconds = Math.max(
        1e-9,
        sum((tally) => tally.seconds),
      );
      return {
        cpuCores: sum((tally) => tally.allocatedCpuCoreSeconds) / seconds,
        memoryBytes: sum((tally) => tally.allocatedMemoryByteSeconds) / seconds,
      };
    },
    record({ dueSeconds, failed, failure, latencySeconds }) {
      const tally = tallies.get(phaseAt(phases, dueSeconds).name);
      if (tally === undefined) return;
      tally.requests += 1;
      tally.latency.add(1e3 * latencySeconds);
      if (failed) tally.failed += 1;
      if (failure !== undefined) tally.failures[failure] = (tally.failures[failure] ?? 0) + 1;
      if (failed || latencySeconds > objectiveSeconds) tally.violations += 1;
    },
    sample(sample) {
      const before = last;
      last = sample;
      if (before === undefined) return;
      const usedCores = Math.max(0, sample.cpuSeconds - before.cpuSeconds) / (sample.atS - before.atS);
      // On a busy machine a sample may come a whole phase late: each phase has its part.
      for (let fromS = before.atS; fromS < sample.atS;) {
        const { name, toS } = phaseAt(phases, fromS);
        const leftS = Math.max(toS - (fromS % durationS), SHORTEST_SECONDS);
        const untilS = Math.min(sample.atS, fromS + leftS);
        const seconds = untilS - fromS;
        fromS = untilS;
        const tally = tallies.get(name);
        if (tally === undefined) continue;
        tally.seconds += seconds;
        tally.replicaSeconds += seconds * before.replicas;
        tally.allocatedCpuCoreSeconds += seconds * before.allocatedCpuCores;
        tally.allocatedMemoryByteSeconds += seconds * before.allocatedMemoryBytes;
        tally.cpuSeconds += seconds * usedCores;
      }
    },
    report: () =>
      phases.map(({ name, fromS, toS }) => {
        const tally = tallies.get(name) ?? newTally();
        const { latency, requests, failed, failures, violations, seconds } = tally;
        const quantileMs = (quantile: number): number | null =>
          latency.count === 0 ? null : 1e3 * latency.quantileSeconds(quantile);
        const perSecond = (total: number): number => (seconds > 0 ? total / seconds : 0);
        return {
          name,
          fromS,
          toS,
          requests,
          failed,
          ...(failed > 0 && { failures }),
          p95Ms: quantileMs(0.95),
          p50Ms: quantileMs(0.5),
          p99Ms: quantileMs(0.99),
          violationRatio: requests === 0 ? null : violations / requests,
          replicasMean: perSecond(tally.replicaSeconds),
          cpuCoresMean: perSecond(tally.cpuSeconds),
          allocatedCpuCoresMean: perSecond(tally.allocatedCpuCoreSeconds),
          allocatedMemoryBytesMean: perSecond(tally.allocatedMemoryByteSeconds),
        };
      }),
  };
}
