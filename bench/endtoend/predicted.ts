import type { LatencySummary, Window } from "@tradewind/core/contract/window.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import type { LatencyProfile } from "@tradewind/predictor/profile/latency-profile.ts";
import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import { WorstContainer } from "@tradewind/predictor/profile/own-tail.ts";
import { presentState } from "@tradewind/predictor/profile/present-state.ts";
import { PriorProfile } from "@tradewind/predictor/profile/prior-profile.ts";
import { estimateState } from "@tradewind/predictor/profile/service-state.ts";
import type { ServiceState } from "@tradewind/predictor/profile/service-state.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { observationOf } from "@tradewind/predictor/profile/window-inputs.ts";
import { STATE_WINDOWS } from "@tradewind/predictor/training/rows.ts";
import { observedWindows } from "@tradewind/predictor/training/rows.ts";
import type { Trainer } from "@tradewind/predictor/training/trainer.ts";
import { heldOut } from "./data.ts";
import type { FlowData, SplitName } from "./data.ts";

const mean = (values: readonly (number | undefined)[]): number => {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? Number.NaN : known.reduce((sum, value) => sum + value, 0) / known.length;
};

interface Outlook {
  readonly profile: LatencyProfile;
  /** Of each point, from windows of earlier settings. */
  readonly states: readonly (ServiceState | undefined)[];
  readonly meanOverTail: number;
}

const windowOf = (data: FlowData, at: number, service: string): Window | undefined =>
  data.points[at]?.set.windows.find((window) => window.service === service);

/** The state that windows before the present setting tell of a service. */
function stateBefore(data: FlowData, at: number, service: string): ServiceState | undefined {
  const setting = data.points[at]?.setting;
  const before = data.points.flatMap((point, i) => {
    if (i >= at || point.setting === setting) return [];
    const window = windowOf(data, i, service);
    const observation = window && observationOf(window, 0.95);
    return observation === undefined ? [] : [observation];
  });
  return estimateState(before.slice(-STATE_WINDOWS), 1);
}

async function learn(
  data: FlowData,
  service: string,
  isTest: readonly boolean[],
  trainer: Trainer,
): Promise<Outlook | undefined> {
  const windows = data.points.flatMap((_, at) => windowOf(data, at, service) ?? []);
  const train = data.points.flatMap((_, at) =>
    isTest[at] === true ? [] : (windowOf(data, at, service) ?? []),
  );
  const outcome = await trainer.train({
    namespace: windows[0]?.namespace ?? "default",
    service,
    windows: observedWindows(train, 0.95),
    percentile: 0.95,
    switches: ALL_ON,
    current: undefined,
    nowMs: 0,
    seed: 1,
  });
  const states = data.points.map((_, at) => stateBefore(data, at, service));
  const last = states.findLast((state) => state !== undefined);
  if (last === undefined) return undefined;
  const shares = train.flatMap(({ ownLatency }) =>
    ownLatency === undefined || ownLatency.p95Seconds === 0
      ? []
      : [ownLatency.meanSeconds / ownLatency.p95Seconds],
  );
  return {
    profile: outcome.kind === "replaced" ? new TrainedProfile(outcome.model) : new PriorProfile(last),
    states,
    meanOverTail: median(shares),
  };
}

function predicted(window: Window, outlook: Outlook, at: number): LatencySummary | undefined {
  const before = outlook.states[at];
  if (before === undefined || window.ownLatency === undefined) return undefined;
  const worst = new WorstContainer(outlook.profile, window, presentState(before, window));
  const p95Seconds = worst.settle(
    mean(window.containers.map(({ cpuLimitCores, cpuRequestCores }) => cpuLimitCores ?? cpuRequestCores)),
    mean(window.containers.map(({ memoryLimitBytes }) => memoryLimitBytes)),
    (window.requestsPerSecond ?? 0) / Math.max(1, window.replicasReady ?? 1),
  );
  return { ...window.ownLatency, p95Seconds, meanSeconds: outlook.meanOverTail * p95Seconds };
}

/**
 * The same data with own tails as the profiles predict them from allocation, load, interference and the CPU a request
 * takes; profiles are trained on the points that are not held out.
 */
export async function withPredictedOwnTails(
  data: FlowData,
  split: SplitName,
  trainers: readonly Trainer[],
): Promise<FlowData> {
  const isTest = heldOut(data, split);
  const outlooks = new Map(
    await Promise.all(
      data.services.map(async (service, i) => {
        const trainer = trainers[i % trainers.length];
        if (trainer === undefined) throw new RangeError("no trainer");
        return [service, await learn(data, service, isTest, trainer)] as const;
      }),
    ),
  );
  const points = data.points.flatMap((point, at) => {
    const windows = point.set.windows.flatMap((window): Window[] => {
      const outlook = outlooks.get(window.service);
      const ownLatency = outlook && predicted(window, outlook, at);
      return ownLatency === undefined ? [] : [{ ...window, ownLatency }];
    });
    // The first points have no state to predict from.
    return windows.length === point.set.windows.length ? [{ ...point, set: { ...point.set, windows } }] : [];
  });
  return { ...data, points };
}
