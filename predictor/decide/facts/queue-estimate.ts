import type { Window } from "@tradewind/core/contract/window.ts";
import { arrivalWaitSeconds } from "./arrival-wait.ts";
import { flowTailSeconds } from "./objective.ts";
import type { HeldFlow } from "./user-flows.ts";

/** Weights of the three terms of the virtual queue; they sum to 1 in the published form. */
export interface QueueWeights {
  /** w1: mean own latency of the service, with the wait before its handler runs. */
  readonly latency: number;
  /** w2: violation of the mean objective by flows through the service. */
  readonly meanViolation: number;
  /** w3: violation of the tail objective by flows through the service. */
  readonly tailViolation: number;
}

/** The weights of the published QueueFlower code. */
export const PUBLISHED_WEIGHTS: QueueWeights = { latency: 0.5, meanViolation: 0.3, tailViolation: 0.2 };

/** Queue estimates of one service. Absent means not known; no field is ever NaN. */
export interface ServiceQueue {
  readonly service: string;
  /**
   * QueueFlower's virtual queue (its §IV), in [0, Σ weights]; only its ratio to the others' has a meaning.
   * Absent when neither the service's latency nor any flow through it was measured.
   */
  readonly virtualQueue?: number;
  /** False when the latency term is missing: the virtual queue is then too low. */
  readonly complete: boolean;
  /** Mean own latency with the wait before the handler runs, seconds. */
  readonly ownMeanSeconds?: number;
  /** Requests waiting for or served in the service itself: rate times that latency, Little's law. */
  readonly ownRequests?: number;
  /** Requests in the service at once, callees' time included, Little's law. */
  readonly inFlight?: number;
}

interface Terms {
  readonly ownMeanSeconds: number | undefined;
  readonly onFlow: boolean;
  readonly meanViolationSeconds: number;
  readonly tailViolationSeconds: number;
}

/**
 * `q̂_n = w1·l_n + w2·Σ c_f + w3·Σ g_f` over the flows f through service n, where c and g are how far a flow's mean and
 * tail are over their objectives (0 when they are within), and each term is divided by its sum over the services. l is
 * the mean own latency; where calls were seen from both sides it includes the time from the caller's call until the
 * handler ran, since a process that cannot keep up lets requests wait there. A term whose sum is 0 is 0 for every service. A flow counts only for the services it passes.
 * A value that is missing takes no part in a sum, so it cannot switch a term off for the others.
 * @returns one entry per window, in the order of `windows`
 */
export function estimateQueues(
  windows: readonly Window[],
  flows: readonly Pick<HeldFlow, "flow" | "objective">[],
  weights: QueueWeights,
): readonly ServiceQueue[] {
  const terms = termsByService(windows, flows);
  const latencySum = sum(terms, ({ ownMeanSeconds }) => ownMeanSeconds ?? 0);
  const meanSum = sum(terms, ({ meanViolationSeconds }) => meanViolationSeconds);
  const tailSum = sum(terms, ({ tailViolationSeconds }) => tailViolationSeconds);
  return windows.map((window, index) => {
    const ownTerms = terms[index];
    const known = ownTerms !== undefined && (ownTerms.ownMeanSeconds !== undefined || ownTerms.onFlow);
    const virtualQueue = known
      ? weights.latency * share(ownTerms.ownMeanSeconds ?? 0, latencySum) +
        weights.meanViolation * share(ownTerms.meanViolationSeconds, meanSum) +
        weights.tailViolation * share(ownTerms.tailViolationSeconds, tailSum)
      : undefined;
    return {
      service: window.service,
      complete: ownTerms?.ownMeanSeconds !== undefined,
      ...(virtualQueue !== undefined && { virtualQueue }),
      ...(ownTerms?.ownMeanSeconds !== undefined && { ownMeanSeconds: ownTerms.ownMeanSeconds }),
      ...ownRequests(window, ownTerms?.ownMeanSeconds),
      ...(window.inFlight !== undefined && { inFlight: window.inFlight }),
    };
  });
}

function termsByService(
  windows: readonly Window[],
  flows: readonly Pick<HeldFlow, "flow" | "objective">[],
): readonly Terms[] {
  const violations = new Map<string, { mean: number; tail: number }>();
  for (const { flow, objective } of flows) {
    const mean = Math.max(0, flow.latency.meanSeconds - objective.meanSeconds);
    const tail = Math.max(0, flowTailSeconds(flow.latency, objective.percentile) - objective.tailSeconds);
    for (const service of new Set(flow.services)) {
      const before = violations.get(service) ?? { mean: 0, tail: 0 };
      violations.set(service, { mean: before.mean + mean, tail: before.tail + tail });
    }
  }
  const waits = arrivalWaitSeconds(windows);
  return windows.map((window) => {
    const violation = violations.get(window.service);
    return {
      ownMeanSeconds: ownMeanSeconds(window, waits.get(window.service) ?? 0),
      onFlow: violation !== undefined,
      meanViolationSeconds: violation?.mean ?? 0,
      tailViolationSeconds: violation?.tail ?? 0,
    };
  });
}

/** Mean own latency; 0 when a latency source reported that there were no requests; absent when none reported. */
function ownMeanSeconds(window: Window, waitSeconds: number): number | undefined {
  if (window.ownLatency !== undefined) return window.ownLatency.meanSeconds + waitSeconds;
  return window.requestsPerSecond === 0 ? 0 : undefined;
}

function ownRequests(window: Window, meanSeconds: number | undefined): { ownRequests?: number } {
  if (meanSeconds === undefined || window.requestsPerSecond === undefined) return {};
  return { ownRequests: window.requestsPerSecond * meanSeconds };
}

function sum(terms: readonly Terms[], of: (terms: Terms) => number): number {
  return terms.reduce((total, term) => total + of(term), 0);
}

function share(part: number, total: number): number {
  return total > 0 && Number.isFinite(total) ? part / total : 0;
}
